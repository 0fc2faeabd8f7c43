"""Applications in SPL: their files are read and turned into the document that a spec in YAML holds."""
