"""Topic sets and solution summaries, by a language model or by the lexical heuristic."""
