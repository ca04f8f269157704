"""The signals that a site can listen to; what a listener raises is logged by Django and troubles nobody else."""

from django.dispatch import Signal

throttled = Signal()
"""A request was refused: sender `RateRule`, with `request` and `decision`. Sent in the request, so be quick."""

rules_changed = Signal()
"""The rules in force in this process are others now: sender `RateRule`, with `changed`, the names of rules that have come,
gone or been edited. Sent by who edits and, by a thread of their own, in all other processes; what changes while a listener
is busy there is told together."""

degraded = Signal()
"""This process stops asking Redis: sender `Breaker`, with `server`, `since` (a datetime), `cause` such as ``store:timeout`` and
`holds`, what holds meanwhile, in words. Sent by a thread of its own, in each process, not by a request."""

recovered = Signal()
"""This process counts on Redis again: sender `Breaker`, with `since`, when it was degraded. Sent like `degraded`."""
