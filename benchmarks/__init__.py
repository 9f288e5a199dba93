"""Speed and memory beside named baselines; run by hand and by `make bench`, never in a test."""
