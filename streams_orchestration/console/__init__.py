"""The console: a web page that shows running applications, and the server of that page.

The server (`app.py`) has one reader of the catalog for all pages (`reader.py`), which sends changes to the pages. The
page "Plans" shows specs that are not deployed. A spec is code, so each one is compiled in a process of its own, within
limits of time and memory (`plans/compilers.py`, decision 0072).
"""
