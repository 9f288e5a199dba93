"""Publishing: released benchmarks out of a workdir and into one."""
