"""The first stage: flattens an application to a graph of operators, with every value in place."""
