"""Operators between bytes, texts and tuples: parsing, formatting, compression, encodings."""
