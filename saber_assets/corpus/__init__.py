"""Sources to clean, deduplicated problems."""
