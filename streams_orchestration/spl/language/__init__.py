"""SPL as text: tokens, syntax trees, and the canonical text of a tree."""
