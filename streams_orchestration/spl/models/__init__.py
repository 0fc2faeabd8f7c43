"""Operator models: the ports, parameters and output functions with which an operator may be invoked."""
