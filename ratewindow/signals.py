"""The signals that a site can listen to; what a listener raises is logged by Django and troubles nobody else."""

from django.dispatch import Signal

throttled = Signal()
"""A request was refused: sender `RateRule`, with `request` and `decision`. Sent in the request, so be quick."""
