"""What a user writes: the application, its operators, annotations and placement, and what can be wrong with them."""
