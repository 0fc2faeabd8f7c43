"""Real servers of the tests' own, on this machine only. What cannot be had is skipped with a reason."""
