"""Event-time graphs: the streams along which watermarks go, and where they begin and end."""
