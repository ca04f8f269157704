"""What a site may want to tell the owner of an account."""

from django.dispatch import Signal

# Sent robustly with `user`, `request` and `failures`, once a request is answered in which a password was right, after at least
# `MANY_FAILURES` and from a device that is not known: by the owner perhaps, or by who has guessed it. `failures` is the most that
# any limit had counted of the name.
suspicious_login = Signal()
MANY_FAILURES = 5
