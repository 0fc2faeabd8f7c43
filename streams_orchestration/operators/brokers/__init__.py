"""Brokers that get acknowledgements: their address, and the way of their messages into a journal."""
