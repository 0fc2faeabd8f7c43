"""Operator models: the ports, parameters and output functions of operators, as an invocation must give them."""
