"""Redeploying: another plan replaces the deployed one, and the operators' states are carried over."""
