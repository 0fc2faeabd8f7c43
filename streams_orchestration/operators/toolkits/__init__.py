"""Operators of other toolkits of IBM Streams that applications in SPL may use without the toolkit."""
