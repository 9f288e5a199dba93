"""What is made: the asset graph, one folder a stage, in the order in which the data flows."""
