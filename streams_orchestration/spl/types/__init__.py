"""Types of SPL as structures: joining, conversions, casts, literals."""
