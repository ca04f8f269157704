"""Rules as a file in the admin: export and import."""
