"""The journal, and the sources that have one."""
