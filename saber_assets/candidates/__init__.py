"""Similarity joins, thresholds, queries and candidate pools."""
