"""Programs: typed SPL expressions and logic, compiled to functions over tuples and over batches."""
