"""The catalog: one SQL database, in SQLite or PostgreSQL, its tables and their versions."""
