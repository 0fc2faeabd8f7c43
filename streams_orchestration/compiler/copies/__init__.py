"""Copies: decides for each connection if its consumer gets a tuple by reference or as a copy."""
