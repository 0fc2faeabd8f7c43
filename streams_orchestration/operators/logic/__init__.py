"""Logic of SPL in operators: programs, and their variables as parts of the states of operators."""
