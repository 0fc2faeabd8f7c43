"""Types of SPL as structures: joining, conversions, literals."""
