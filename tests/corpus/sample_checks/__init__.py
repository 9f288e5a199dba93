"""Independent answer checks for the sample corpus."""
