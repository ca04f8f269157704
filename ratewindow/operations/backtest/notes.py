"""What a log does not say about the requests that rules count, in sentences beside the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Note:
    """One sentence, in the language of whoever reads it: `kind` is a key of `TEXTS`."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        values = {name: str(value) for name, value in self.values.items()}
        return str(TEXTS[self.kind]) % values


ON_MISSING = {
    "ip": _("they are counted by address, as the rule says of requests without it"),
    "allow": _("they pass uncounted, as the rule says of requests without it"),
    "refuse": _("they are refused, as the rule says of requests without it"),
}

TEXTS = {
    "people": _(
        "A log does not show how many people stand behind one address, nor what clients would do once they are refused: many "
        "come again later, some at once."
    ),
    "unknowable": _("Rule %(rule)s: a log cannot say %(key)s of a request, so no request has it; %(holds)s."),
    "nowhere": _("Rule %(rule)s: no request of this log has %(key)s; %(holds)s."),
    "nobody": _("Rule %(rule)s: this log names nobody as signed in, so all requests are those of visitors."),
    "login_failed": _(
        "Rule %(rule)s: a log does not say whether a login failed. Every request counts here as one that did, so it would have "
        "refused at most these."
    ),
    "no_status": _("Rule %(rule)s: this log has no statuses, by which the rule counts, so nothing counts."),
    "refused_before": _(
        "%(count)s of the requests were answered 429 in this log: a limit held then, and clients may have waited for it."
    ),
    "by_proxy": _(
        "%(share)s of the requests have the address of a proxy in TRUSTED_PROXIES, and no X-Forwarded-For: let the proxy's log "
        "be read, or write that header into this one. All clients behind it count as one here."
    ),
    "cost": _("Rule %(rule)s: its cost is a function of the site, so each request costs what the rule says."),
    "rate": _("Rule %(rule)s: its rate is an async function of the site, so the rule is left out."),
    "scope": _("The setting SCOPE is a function of the site: clients of all its scopes are counted together."),
    "hidden": _(
        "Blocks and exemptions are left out, since the numbers would say whom they are about: to count with them takes the "
        "permissions to view blocks and exemptions, and to view identities."
    ),
    "seconds": _(
        "The log has whole seconds. So each request is decided twice: as if all of a second had come at its beginning, and as "
        "if they had come spread evenly over it."
    ),
    "late": _("%(count)s requests stand in the log far from their place in time, and are decided where they stand."),
    "unordered": _(
        "%(count)s of %(requests)s requests stand in the log far from their place in time, more than one of a hundred. Any "
        "number would be wrong: sort the log by time first, or name the files of which it was made."
    ),
    "too_many": _(
        "There is no curve and no suggestion: the clients of all limits are more than %(most)s, which is as many as are kept. "
        "Try a part of the log, or one limit alone."
    ),
    "empty": _("The log has no requests, so nothing is known of these rules."),
    "ruleless": _("No rule decides: the site has none that is on, and none in its code meets a request of this log."),
    "unmet": _("Rule %(rule)s: it applies to no request of this log. Check its path, route and methods."),
    "names": _("The log has host names: each counts as one client."),
}
