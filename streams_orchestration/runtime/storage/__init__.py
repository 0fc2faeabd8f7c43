"""Where bytes lie: the state directory and the files in it."""
