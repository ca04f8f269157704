"""What a request has met by now: its decisions at `request.ratewindow`, one for each rule.

They are those of one pass through the outermost guard. What comes after it, from a body that is streamed or by a test
that sends its request again, is not among them.
"""

from collections.abc import Iterable, Sequence

from django.http import HttpRequest

from ratewindow.limiter.types import Decision, Refunds
from ratewindow.request import charge_later, decide
from ratewindow.request.charge_later import RequestDecision


def begin(request: HttpRequest) -> bool:
    """Whether the guard that asks is the outermost one of this pass; of an earlier pass nothing is kept."""
    if hasattr(request, "ratewindow"):
        if not hasattr(request, "_ratewindow_left"):
            return False
        _forget(request)
    try:
        request.ratewindow = RequestDecision()  # type: ignore[attr-defined]
    except AttributeError:
        words = "what is limited is no view, or not called by Django: elsewhere ask ratewindow.hit(name, identity)"
        raise TypeError(f"{request!r:.40} came as a request, and is none: {words}") from None
    return True


def end(request: HttpRequest) -> Iterable[Decision]:
    """The outermost guard is left. What is to be counted."""
    request._ratewindow_left = True  # type: ignore[attr-defined]
    return _once_for_each_rule(decisions_of(request))


def is_inside(request: HttpRequest) -> bool:
    """Whether a guard around the code that asks counts the request and writes its headers."""
    return hasattr(request, "ratewindow") and not hasattr(request, "_ratewindow_left")


def decisions_of(request: HttpRequest) -> tuple[Decision, ...]:
    """What has been decided about this request so far, one decision for each rule."""
    decision: Decision | None = getattr(request, "ratewindow", None)
    return () if decision is None else decision.decisions  # a refused one is false


def barring(request: HttpRequest) -> list[Decision]:
    """Those of them that would also bar the next request: where the view decides (``block=False``), none does."""
    optional: tuple[Decision, ...] = getattr(request, "_ratewindow_optional", ())
    return [part for part in decisions_of(request) if not any(part is each for each in optional)]


def knows(request: HttpRequest, decision: Decision) -> bool:
    """Whether this decision is among those about the request."""
    return any(part is each for part in decision.decisions for each in decisions_of(request))


def tell_refused(request: HttpRequest) -> Refunds:
    """What has been decided so far let the request pass, or would have refused it; now another rule refuses it.

    Returns what guards outside have charged it, to be given back, since a refused request costs nothing; but what counts
    refused requests keeps its charge, as it does in one call. What code has charged by name, or late, stays charged: the
    work may be done.
    """
    refunds = [
        refund
        for part in _made_by_guards(request)
        if part.check is not None and not part.check.counts_refused
        for refund in part.take_back(part.check.cost, with_later=False)
    ]
    for part in decisions_of(request):
        for each in (part, *(early for early in part.later if early.check is not None and early.check.only_looks)):
            if each.outcome in ("passed", "would_refuse"):
                each.outcome = "other"
    return refunds


def give_back(request: HttpRequest, refunds: Refunds) -> None:
    """Give back what guards outside have charged a refused request, and say what is left then.

    The refusals that this process knows stay known: who hammers would else make it forget them each time.
    """
    if not charge_later.give_back(refunds, decide.waited(decisions_of(request)), forget=False).cause:
        charge_later.show_given_back(decisions_of(request), refunds)


async def agive_back(request: HttpRequest, refunds: Refunds) -> None:
    """`give_back`, awaited."""
    if not (await charge_later.agive_back(refunds, decide.waited(decisions_of(request)), forget=False)).cause:
        charge_later.show_given_back(decisions_of(request), refunds)


def join(request: HttpRequest, decision: Decision, bars: bool = True) -> None:
    """Make `request.ratewindow` the decision of all rules that the request has met by now."""
    _make(request, decisions_of(request), decision)
    if not bars:
        request._ratewindow_optional = (*getattr(request, "_ratewindow_optional", ()), *decision.decisions)  # type: ignore[attr-defined]


def overtake(request: HttpRequest, decision: Decision) -> None:
    """`join` for code that asks for a rule by name, and may ask again: what it is told last holds, and stands for what
    was told of the rule before, which is kept for refunds."""
    newest = {(part.rule, part.mode): part for part in decision.decisions}
    others = []
    for part in decisions_of(request):
        newer = newest.get((part.rule, part.mode))
        if newer is None:
            others.append(part)
        else:
            newer.later = (*part.later, part)
            vars(request).setdefault("_ratewindow_overtaken", []).append(part)
    vars(request).setdefault("_ratewindow_by_code", []).extend(decision.decisions)
    _make(request, others, decision)


def _made_by_guards(request: HttpRequest) -> list[Decision]:
    by_code: list[Decision] = getattr(request, "_ratewindow_by_code", [])
    made = (*decisions_of(request), *getattr(request, "_ratewindow_overtaken", ()))
    return [part for part in made if not any(part is each for each in by_code)]


def _make(request: HttpRequest, before: Sequence[Decision], decision: Decision) -> None:
    whole = Decision.of([*before, *decision.decisions]) if before else decision
    whole.__class__ = decision.__class__ = RequestDecision
    request.ratewindow = whole  # type: ignore[attr-defined]


def _forget(request: HttpRequest) -> None:
    for name in [name for name in vars(request) if name in ("ratewindow", "limited") or name.startswith("_ratewindow_")]:
        delattr(request, name)


def _once_for_each_rule(decisions: tuple[Decision, ...]) -> Iterable[Decision]:
    """A shadow row beside a rate in code shares its name: what happened is the code's, what would have is the row's."""
    if len(decisions) < 2:
        return decisions
    told: dict[str, Decision] = {}
    for decision in sorted(decisions, key=lambda each: _TELLING.index(each.outcome)):
        told.setdefault(decision.rule, decision)
    return told.values()


_TELLING = ("refused", "other", "would_refuse", "passed")
