"""Release a client: delete what rules have counted for it and its penalties, and end the blocks that name it."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext
from redis.exceptions import RedisError

from ratewindow.conf.in_words import in_clauses, listed
from ratewindow.limiter.problem import Problem
from ratewindow.models import Override
from ratewindow.operations import client_rules
from ratewindow.operations.history import recording
from ratewindow.overrides import BLOCK
from ratewindow.overrides.subjects import EVERYBODY, in_words, stored
from ratewindow.request import decide
from ratewindow.request.prepare import ask_about
from ratewindow.rulebook import current
from ratewindow.store import outage, stores


@dataclass(frozen=True)
class Released:
    """The result of a release.

    `rules` are the rules that had counted something. `blocked_by` are the subjects of blocks that still apply to the client,
    and `blocked_from` the rules of these blocks, with an empty name for a block under all rules.
    """

    who: str
    rules: tuple[str, ...] = ()
    ended: int = 0
    blocked_by: tuple[str, ...] = ()
    blocked_from: tuple[str, ...] = ()
    counts: bool = True  # whether this is a single client, which can have counts
    failure: str = ""  # why not all counts could be deleted

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, with_blocks: bool = True) -> str:
        """A sentence about the result. Without blocks it is for people who may not be told whether there were any."""
        done = []
        if self.rules:
            done.append(gettext("its counts under %s deleted") % listed(self.rules))
        elif self.counts and not self.failure:
            done.append(gettext("it had no counts"))
        if not with_blocks:
            done.append(gettext("any block that named it ended"))
        elif self.ended:
            done.append(ngettext("%d block ended", "%d blocks ended", self.ended) % self.ended)
        else:
            done.append(gettext("no block named it"))
        how_far = gettext("Released only in part %(who)s: %(done)s.") if self.failure else gettext("Released %(who)s: %(done)s.")
        return " ".join(
            [how_far % {"who": self.who, "done": in_clauses(done)}, *self._left(), *(self._wider() if with_blocks else ())]
        )

    def _left(self) -> Iterator[str]:
        if self.failure:
            left = gettext("Its counts remain, since Redis does not answer (%s): release it again once it does.")
            yield left % self.failure

    def _wider(self) -> Iterator[str]:
        if not self.blocked_by:
            return
        whose = gettext("a block of %s") % gettext(" and of ").join(self.blocked_by)
        if "" in self.blocked_from:
            yield gettext("It is still blocked, by %s.") % whose
        else:
            where = {"rules": listed(self.blocked_from), "whose": whose}
            yield gettext("It is still blocked from %(rules)s, by %(whose)s.") % where


def release(identity: str, rule: str = "") -> Released:
    """End the blocks that name a client and delete its counts, under one rule or under all.

    A network of several clients, a group and everybody have blocks but no counts. ValueError names an invalid identity or
    an unknown rule. Blocks come first, since they apply while Redis is away, too.
    """
    subject = client_rules.subject_of(identity)
    book = current.rulebook()
    names = client_rules.names(book)
    if rule and rule not in names:
        raise Problem("there is no rule {rule!r}: manage.py ratewindow rules lists them", rule=rule)
    who = client_rules.values_of(subject)
    blocks = Override.objects.get_queryset().naming(subject).filter(action=BLOCK)
    ended = (blocks.filter(rule=rule) if rule else blocks).end()
    cleared, failure = _clear_all(book, sorted({rule} if rule else names), who)
    still = _still_blocking(who, rule)
    recording.record_release(
        stored(subject), {"rule": rule, "counts": list(cleared), "blocks": ended, **({"failure": failure} if failure else {})}
    )
    return Released(
        in_words(stored(subject)),
        cleared,
        ended,
        blocked_by=tuple(sorted({_named(each.identity) for each in still})),
        blocked_from=tuple(sorted({each.rule for each in still})),
        counts=bool(who),
        failure=failure,
    )


def _named(identity: str) -> str:
    return in_words(identity) if identity != EVERYBODY else gettext("everybody")


def _still_blocking(who: tuple[str, ...], rule: str) -> list[Override]:
    """The blocks that still apply to a client, under this rule or under any."""
    held = current.rulebook().overrides if who else None
    if held is None:
        return []
    found = [each.pk for each in held.of_identity(who) if each.action == BLOCK and (not rule or each.rule in ("", rule))]
    return list(Override.objects.in_force().filter(pk__in=found))


def _clear_all(book: current.Rulebook, names: list[str], who: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Clear the counts of a client; return the rules that had some, and the failure that ended this early, if any."""
    cleared: list[str] = []
    try:
        cleared.extend(name for name in names if who and _clear(book, name, who))
    except (RedisError, OSError) as error:
        return tuple(cleared), f"{type(error).__name__}: {error}"
    return tuple(cleared), ""


def _clear(book: current.Rulebook, name: str, who: tuple[str, ...]) -> bool:
    """Clear the counts under all rules of a name. Whether there were any."""
    counted = False
    for rule in client_rules.named_for(book, name, who):
        question = ask_about(who, rule, 1)
        for decision in decide.decide(question, "peek").decisions:
            counted = counted or decision.reason == "penalty" or any(answer.reset_ms > 0 for answer in decision.windows)
        stores.store().reset([key for check in question.checks for key in (*check.keys, *filter(None, [check.lock]))])
    outage.refusals.forget()
    return counted
