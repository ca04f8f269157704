"""What a rule would have done in time that is past: its refusals, each client's peak, and what its limit should be."""
