"""Typing of SPL: names get a meaning, expressions and statements become typed trees."""
