"""Changes between two plans of one application: widths, and the PEs that restart because of them."""
