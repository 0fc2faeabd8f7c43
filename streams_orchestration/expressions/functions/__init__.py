"""The functions of the language, by the headings of their documentation."""
