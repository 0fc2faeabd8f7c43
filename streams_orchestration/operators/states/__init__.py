"""States of operators: their parts, their files, and how they are divided among channels."""
