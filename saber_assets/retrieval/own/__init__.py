"""A person's own retrievers: classes, endpoints, files of scores, plug-ins."""
