"""The compilation stage that cuts PEs into the programs which run."""
