"""Outputs of an application: they become visible with their epoch, and are taken back by a reset."""
