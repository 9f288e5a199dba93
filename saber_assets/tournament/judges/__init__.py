"""Judges that ask a language model, one module each, behind the same `compare`."""
