"""Sources that acknowledge messages to a broker: its address, their position there, and the transfer into a journal."""
