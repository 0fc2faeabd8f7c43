"""States of operators: their parts and files, and their division among channels."""
