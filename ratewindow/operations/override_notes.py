"""Notes about a block or an exemption that is valid, but may not be what was meant."""

from collections.abc import Iterator

from django.contrib.auth.models import Group

from ratewindow.models import Override, RateRule
from ratewindow.overrides import users
from ratewindow.overrides.subjects import parse_subject, users_in
from ratewindow.rules import code_rates


def notes(override: Override, who: str) -> Iterator[str]:
    """Sentences, none if all is well. `who` is the subject as it was typed: the row may hold only a hash."""
    if override.rule and not is_known(override.rule):
        yield f"There is no rule {override.rule!r} yet: this applies once there is one."
    try:
        subject = parse_subject(who)
    except ValueError:
        return
    group = subject.group
    if group and not Group.objects.filter(name=group).exists():
        yield f"There is no group {group!r} yet: this applies once there is one."
    for user in users_in(subject):
        if not users.exists(user):
            yield f"No user has the primary key {user!r}: this applies to nobody until one has."


def is_known(rule: str) -> bool:
    """Whether a rule in the database or a rate in code has this name."""
    return rule in code_rates.uses() or rule in code_rates.names() or RateRule.objects.filter(name=rule).exists()
