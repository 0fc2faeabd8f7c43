"""Typing of SPL: names are resolved, and expressions and statements become typed trees."""
