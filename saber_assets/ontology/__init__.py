"""A topic DAG made a tree, and similarities on it."""
