"""Redeployment: the effects of replacing the plan of a deployed application."""
