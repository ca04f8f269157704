"""Notes about a block or an exemption that is valid, but may not be what was meant."""

from collections.abc import Iterator

from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.identity import split
from ratewindow.models import Override, RateRule
from ratewindow.overrides import ALLOW, RATE, users
from ratewindow.overrides.subjects import Subject, in_words, parse_subject, users_in
from ratewindow.rulebook import current
from ratewindow.rules import code_rates

_LAST_TO_END = F("expires_at").desc(nulls_first=True)


def notes(override: Override, who: str, of_others: bool = True) -> Iterator[str]:
    """Sentences, none if all is well.

    `who` is the subject as it was typed: the row may hold only a hash. Without `of_others` they are for people who may not be
    told of other overrides.
    """
    if override.rule and not is_known(override.rule):
        yield gettext("There is no rule %r yet: this applies once there is one.") % override.rule
    try:
        subject = parse_subject(who)
    except ValueError:
        return
    group = subject.group
    if group and not users.is_group(group):
        yield gettext("There is no group %r yet: this applies once there is one.") % group
    for user in users_in(subject):
        if not users.exists(user):
            yield gettext("No user has the primary key %r: this applies to nobody until one has.") % user
    if of_others and (exemption := _outweighing(override, subject)):
        values = {"until": until(exemption), "who": in_words(exemption.identity)}
        yield _with_reason(gettext("This has no effect %(until)s, since %(who)s is exempt") % values, exemption)


def is_known(rule: str) -> bool:
    """Whether a rule in the database or a rate in code has this name."""
    return rule in code_rates.uses() or rule in code_rates.names() or RateRule.objects.filter(name=rule).exists()


def already(override: Override) -> Override | None:
    """The override in force that already does what this new one would, for the same subject; the last to end of several."""
    same = Override.objects.in_force().naming(parse_subject(override.identity)).filter(action=override.action)
    if override.action == RATE:
        same = same.filter(rule=override.rule, rate=override.rate)
    else:
        same = same.filter(rule__in={"", override.rule})
    if override.starts_at is not None:
        same = same.exclude(expires_at__lte=override.starts_at)
    return same.exclude(pk=override.pk).order_by(_LAST_TO_END).first()


def already_in_words(first: Override, who: str) -> str:
    """``ip:203.0.113.9 is already blocked until 14:20, by admin: scraping.``"""
    template = str(_ALREADY[first.action][bool(first.rule)])
    said = template.format(who=who, rule=first.rule, rate=first.rate, until=until(first))
    if first.created_by:
        said = gettext("%(said)s, by %(person)s") % {"said": said, "person": first.created_by.get_username()}
    return _with_reason(said, first)


def until(override: Override) -> str:
    """``until 14:20``, with the date unless it is today, or ``until somebody ends it``."""
    if override.expires_at:
        return gettext("until %s") % time_zone.in_short(override.expires_at)
    return gettext("until somebody ends it")


_ALREADY = {  # for all rules, and for one
    "block": (_("{who} is already blocked {until}"), _("{who} is already blocked where rule {rule} applies {until}")),
    "allow": (_("{who} is already exempt from all rules {until}"), _("{who} is already exempt from rule {rule} {until}")),
    "rate": (_("{who} already has the rate {rate} {until}"), _("{who} already has the rate {rate} under rule {rule} {until}")),
}


def _with_reason(said: str, override: Override) -> str:
    if not override.reason:
        return gettext("%s.") % said
    return gettext("%(said)s: %(reason)s.") % {"said": said, "reason": override.reason.rstrip(".")}


def _outweighing(override: Override, subject: Subject) -> Override | None:
    """The exemption in force that outweighs this block or other rate; the last to end of several."""
    if override.action == ALLOW:
        return None
    held, values = current.rulebook().overrides, _values(subject)
    found = [each.pk for each in held.of_identity(values) if each.action == ALLOW] if held is not None and values else []
    exemptions = Override.objects.in_force().filter(action=ALLOW, rule__in={"", override.rule})
    named = exemptions.naming(subject).values("pk")
    return exemptions.filter(Q(pk__in=found) | Q(pk__in=named)).order_by(_LAST_TO_END).first()


def _values(subject: Subject) -> tuple[str, ...]:
    """The typed values by which overrides of a client are found; none for a group, for everybody, or for a hash."""
    if subject.key:
        return () if subject.hashed else split(subject.text)
    return (subject.text,) if subject.network is not None else ()
