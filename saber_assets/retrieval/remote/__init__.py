"""Models behind an endpoint: embeddings and answers that come over HTTP."""
