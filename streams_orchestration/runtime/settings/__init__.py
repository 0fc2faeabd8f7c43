"""Settings of hosts, and limits that packages of the runtime share."""
