"""Parts of the sections of the plan document: tables, and common terms."""
