"""The reasons of refusals, and of decisions made without Redis, in words."""

from django.utils.translation import gettext_lazy as _

LIMIT_OR_BLOCK = "limit_or_block"  # for readers who may not know of blocks
REFUSED = {
    "limit": _("Over the limit"),
    "penalty": _("Locked out by a penalty"),
    "block": _("Blocked"),
    LIMIT_OR_BLOCK: _("Over the limit, or blocked"),
    "cost": _("Costs more than the limit"),
    "missing": _("No such user, header or field"),
    "store": _("Redis did not answer, and the rule refuses then"),
    "function": _("A function of the site failed, and the rule refuses then"),
}
FAILED = {
    "store:timeout": _("Redis did not answer in time"),
    "store:connection": _("Redis could not be reached"),
    "store:loading": _("Redis was loading its data"),
    "store:busy": _("Redis was busy with a script"),
    "store:oom": _("Redis was out of memory"),
    "store:readonly": _("Redis was read-only, such as a replica"),
    "store:auth": _("Redis refused the password"),
    "store:noperm": _("Redis did not permit a command"),
    "store:misconf": _("Redis could not save its data, and refused writes"),
    "store:noreplicas": _("Redis had too few replicas, and refused writes"),
    "store:masterdown": _("Redis had lost its master"),
    "store:maxclients": _("Redis had too many clients"),
    "store:pool": _("No connection was free"),
    "store:denied": _("Redis refuses connections from this host (protected mode)"),
    "store:unsupported": _("Redis does not support a command"),
    "store:database": _("Redis has no database with that number"),
    "store:error": _("Redis, or a proxy before it, answered with an error: see the log"),
    "store:cluster": _("A part of the cluster was not reachable"),
    "store:sentinel": _("The Sentinels named no master"),
    "store:protocol": _("The answer did not come from a Redis server"),
    "store:wrongtype": _("Another program has written to a key of the limiter"),
    "store:script": _("Redis refused the script"),
    "store:toomany": _("A request met more limits than one decision may have: see the log"),
    "store:internal": _("An error in the limiter: see the log"),
    "function:cost": _("The site's function for a cost failed"),
    "function:rate": _("The site's function for a rate failed"),
    "function:key": _("The site's function for a key failed"),
}


def in_words(cause: str) -> str:
    """A cause in words: ``store:timeout`` is ``Redis did not answer in time``."""
    return str(FAILED.get(cause, cause))
