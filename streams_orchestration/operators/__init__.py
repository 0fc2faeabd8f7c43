"""The operator SDK and the standard operators."""
