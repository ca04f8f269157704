"""The signals of this app; an exception in a receiver is logged by Django and goes no further."""

from django.dispatch import Signal

throttled = Signal()
"""A request was refused: sender `RateRule`, with `request`, `decision`, and `first`: whether no refusal of this client by this
rule was told before in this period. Sent during the request: receivers must be quick."""

quota_reached = Signal()
"""A client has used 75, 90 or 100 % of a quota: sender `RateRule`, with `rule`, its name; `identity`, the client, such as
``user:42``; `percent`, `limit`, `used`; `window`, such as ``1000/month``; and `ends_at`, an aware datetime. Sent during the
request that has found it, once over all processes."""

rules_changed = Signal()
"""The rules in force in this process have changed: sender `RateRule`, with `changed`, the names of rules that were added,
removed or edited. Sent by the edit itself and, in all other processes, by a thread of its own; changes while a receiver
runs are sent together."""

degraded = Signal()
"""This process stops asking Redis: sender `Breaker`, with `server`, `since` (a datetime), `cause` such as ``store:timeout`` and
`holds`, what holds meanwhile, in words. Sent by a thread of its own, in each process, not by a request."""

recovered = Signal()
"""This process counts on Redis again: sender `Breaker`, with `since`, when it was degraded. Sent like `degraded`."""
