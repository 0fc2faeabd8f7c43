"""The pages and modules of the repository that `make docs` writes from tables and docstrings, and their writers."""
