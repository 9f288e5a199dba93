"""The `saber` command: one module a verb."""
