"""Deploys compiled applications: writes into the catalog what is wanted."""
