"""Functions of SPL: signatures of the built-in ones, and the choice among functions of one name."""
