"""What an application does while it runs: status, metrics, profiles."""
