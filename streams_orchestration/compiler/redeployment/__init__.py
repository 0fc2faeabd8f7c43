"""What becomes of a deployed application when another plan takes the place of its own: `streams redeploy`."""
