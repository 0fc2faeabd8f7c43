"""Tests of the forms of values."""
