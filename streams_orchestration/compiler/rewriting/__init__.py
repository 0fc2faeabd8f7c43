"""A decoupling decision applied to fused PEs."""
