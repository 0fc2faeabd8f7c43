"""From an application to a plan: pure functions, one module a stage."""
