"""Functions of SPL: signatures of built-in functions, and the choice among functions with the same name."""
