"""The expression language: parsing, typing and evaluation, with Spark's semantics in ANSI mode."""
