"""Applications that IBM Streams has compiled: ADL files and application bundles, converted to documents like a spec."""
