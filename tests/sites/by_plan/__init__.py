"""Four small sites whose customers have limits of their own, in the site's own models."""
