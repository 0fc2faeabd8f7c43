"""The machines on which hosts run: their register, the placing of hosts, and the agent that starts hosts."""
