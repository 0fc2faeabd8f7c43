"""Units of recovery: the state machine of a consistent region, its controller, and the reset."""
