"""The engines that run PEs, and the port through which a host uses them."""
