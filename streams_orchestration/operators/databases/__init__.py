"""Databases: their addresses, connections and errors, the tables that are written to and read from."""
