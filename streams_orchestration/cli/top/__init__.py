"""`streams top`: applications, regions, PEs and operators as `htop` shows processes."""
