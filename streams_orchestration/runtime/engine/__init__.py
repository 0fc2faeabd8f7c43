"""What runs a PE: the port that a host asks, and the engines behind it."""
