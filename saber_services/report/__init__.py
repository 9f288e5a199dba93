"""The report page: one HTML file that needs nothing else, made from the tables of a workdir."""
