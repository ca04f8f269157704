"""Other sites than the demo: one without the admin, and the demo under each theme of the admin."""
