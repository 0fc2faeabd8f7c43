"""The machines on which hosts run: which there are, where a host is started, and the agent that starts it."""
