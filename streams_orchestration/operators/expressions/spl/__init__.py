"""Expressions of SPL in parameters of operators: texts, types of columns, surroundings, evaluation by batches."""
