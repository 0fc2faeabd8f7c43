"""Loading of code: libraries on first use, optional packages, and the classes and functions that a spec names."""
