"""What the limits make of a request that is only described: nothing is counted, and no state changes."""
