"""What leaves an application: outputs that become visible with their epoch, and are taken back by a reset."""
