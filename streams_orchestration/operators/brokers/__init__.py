"""Sources that acknowledge messages to a broker: the broker's address, and the transfer of messages into a journal."""
