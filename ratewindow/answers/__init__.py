"""What clients are told: headers on every answer, and the answer to a refused request."""
