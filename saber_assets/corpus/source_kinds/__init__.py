"""Kinds of source: one module reads each, and `registry` knows them all."""
