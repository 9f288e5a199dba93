"""The analyses that `saber analyse` runs: from a workdir's tables to tables, notes and a plot."""
