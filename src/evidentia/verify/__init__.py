"""A second implementation: recompute every number of a result folder from its own files, sharing no code with the first."""
