"""HTTP: requests that a sink makes, and what each answer means."""
