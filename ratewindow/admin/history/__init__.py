"""The history in the admin: who changed what, and the page that restores an earlier state."""
