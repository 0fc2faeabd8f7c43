"""Sources that acknowledge to brokers, on real ones."""
