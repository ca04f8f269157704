"""A site to look at: ``python -m ratewindow.demo`` starts it, with a Redis, an admin, rules and visitors of its own."""
