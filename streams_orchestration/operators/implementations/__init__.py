"""The classes of operators: found, checked, instantiated, and called for watermarks."""
