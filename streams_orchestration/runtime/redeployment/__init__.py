"""Redeploying: another plan replaces the deployed one, with its states; and hosts are moved between machines."""
