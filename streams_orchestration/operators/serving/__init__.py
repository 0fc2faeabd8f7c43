"""Serving network connections: connection limits before authentication, and protection from foreign web pages."""
