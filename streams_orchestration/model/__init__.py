"""The input of a user: the application with its operators, annotations and placement, and diagnostics about it."""
