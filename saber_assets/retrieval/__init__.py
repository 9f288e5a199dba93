"""The Retriever protocol, the registry, and one module a family."""
