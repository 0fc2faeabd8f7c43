"""States on their way from one plan of an application to another."""
