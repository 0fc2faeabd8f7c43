"""The language of expressions: read, typed, and evaluated with the meaning that Spark gives them in ANSI mode."""
