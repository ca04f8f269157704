"""Rules, blocks and the kill switch as plain values: what history keeps, and what is exported, imported and restored."""
