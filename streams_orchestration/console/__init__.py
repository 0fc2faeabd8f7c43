"""The console: a web page that shows running applications, and the server of that page."""
