"""Programs: typed expressions and logic of SPL as functions over tuples and over batches."""
