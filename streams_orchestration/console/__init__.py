"""The console: a web page that shows applications as they run, and what serves it."""
