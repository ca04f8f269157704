"""What a site may want to tell the owner of an account."""

from django.dispatch import Signal

# Sent robustly with `user`, `request` and `failures`, the most that any limit has counted of the name, when somebody logs in
# after at least `MANY_FAILURES` from a device that is not known, or has used up its limit: the owner perhaps, or who has guessed
# the password.
suspicious_login = Signal()
MANY_FAILURES = 5
