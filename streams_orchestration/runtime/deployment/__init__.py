"""Deploys compiled applications: writes their wanted state into the catalog, starts their hosts, and resets units."""
