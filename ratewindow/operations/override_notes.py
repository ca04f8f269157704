"""What somebody who has made a block or an exemption should know: it is allowed, and may not be what was meant."""

from collections.abc import Iterator

from django.contrib.auth.models import Group

from ratewindow.models import Override, RateRule
from ratewindow.overrides import users
from ratewindow.overrides.subjects import parse_subject, users_in
from ratewindow.rules import code_rates


def notes(override: Override, who: str) -> Iterator[str]:
    """Sentences, of which there are none where all is well. `who` is what was written: the row may have only a hash."""
    if override.rule and not is_known(override.rule):
        yield f"No rule is called {override.rule!r} yet: this holds once there is one."
    try:
        subject = parse_subject(who)
    except ValueError:
        return
    group = subject.group
    if group and not Group.objects.filter(name=group).exists():
        yield f"No group is called {group!r} yet: this holds once there is one."
    for user in users_in(subject):
        if not users.exists(user):
            yield f"No user has the primary key {user!r}: this holds for nobody until one has."


def is_known(rule: str) -> bool:
    """Whether a row or some code has this name."""
    return rule in code_rates.uses() or rule in code_rates.names() or RateRule.objects.filter(name=rule).exists()
