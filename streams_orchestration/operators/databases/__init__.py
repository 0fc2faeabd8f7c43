"""Databases: addresses, connections and errors, and the tables that operators read and write."""
