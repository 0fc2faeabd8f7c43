"""Logs of hosts and PEs: writing, rotation, hidden secrets, and the lines that programs print."""
