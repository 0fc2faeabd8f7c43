"""The journal: a durable log of what came in from those who will not say it again."""
