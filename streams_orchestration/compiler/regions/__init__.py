"""Consistent regions: the operators that take cuts together."""
