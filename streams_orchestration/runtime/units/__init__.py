"""Units of recovery: the state machine of a consistent region, its controller, the roll back, and redeploys' trials."""
