"""The contract of an operator: the base classes that its author implements, and their context."""
