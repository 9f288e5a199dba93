"""The report: a site of pages that need nothing else, made from the tables of a workdir."""
