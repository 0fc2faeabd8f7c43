"""From an application to a plan: pure functions, a package a stage."""
