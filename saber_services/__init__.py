"""How people reach it: the `saber` command and the report page."""
