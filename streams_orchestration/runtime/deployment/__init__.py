"""Deploys compiled applications: writes their wanted state into the catalog, and starts their hosts."""
