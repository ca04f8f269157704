"""What somebody who has made a block or an exemption should know: it is allowed, and may not be what was meant."""

from collections.abc import Iterator

from django.contrib.auth.models import Group

from ratewindow import coderules, rulebook
from ratewindow.models import Override, RateRule
from ratewindow.overrides.subjects import parse_subject


def notes(override: Override) -> Iterator[str]:
    """Sentences, of which there are none where all is well."""
    if override.rule and not is_known(override.rule):
        yield f"No rule is called {override.rule!r} yet: this holds once there is one."
    try:
        group = parse_subject(override.identity).group
    except ValueError:
        return
    if group and not Group.objects.filter(name=group).exists():
        yield f"No group is called {group!r} yet: this holds once there is one."


def is_known(rule: str) -> bool:
    """Whether a row or some code has this name."""
    return rule in coderules.uses() or rule in rulebook.code_names() or RateRule.objects.filter(name=rule).exists()
