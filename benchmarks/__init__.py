"""Measurements of this package against a yardstick, on the machine at hand: `make bench`."""
