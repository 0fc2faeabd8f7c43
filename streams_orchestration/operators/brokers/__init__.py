"""Brokers that are told what was taken: how one is addressed, and what comes from it into a journal."""
