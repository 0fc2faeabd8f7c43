"""Processes of this machine: identity, forks, and open files."""
