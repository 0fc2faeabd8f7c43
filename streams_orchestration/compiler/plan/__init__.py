"""The compiled plan as one document: its sections, and the tables in them."""
