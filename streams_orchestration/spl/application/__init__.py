"""From files of SPL to the document that a spec in YAML would be."""
