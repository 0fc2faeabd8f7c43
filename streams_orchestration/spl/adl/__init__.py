"""Applications that IBM Streams has compiled: ADL files and application bundles, read as documents of ours."""
