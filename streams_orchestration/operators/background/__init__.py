"""Threads that work beside an operator."""
