"""The query of a PE: its batches are planned one by one, run in tasks and levels, and committed."""
