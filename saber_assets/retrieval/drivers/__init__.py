"""What runs the systems of the field: one module a driver, all of them listed in `table`."""
