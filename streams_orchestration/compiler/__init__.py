"""The compiler: pure functions that turn an application into a plan, with one package for each stage."""
