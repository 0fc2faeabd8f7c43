"""Applications in SPL: their files are read and converted to a document like the one of a spec in YAML."""
