"""Serving network connections: limits before authentication, HTTP requests, foreign web pages, and names of servers."""
