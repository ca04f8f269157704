"""A suggestion in words: why this limit, or why none, and what no log can show."""

from django.utils.translation import gettext, ngettext

from ratewindow.conf.in_words import duration
from ratewindow.limiter.durations import UNITS_MS
from ratewindow.operations.backtest.suggestion import (
    LEAST_CLIENTS,
    LEAST_FOR_PERCENTILE,
    LEAST_IN_HALF,
    LEAST_INNOCENT,
    Basis,
    Halves,
    Suggestion,
)
from ratewindow.reporting.summary import number


def reason(suggestion: Suggestion) -> str:
    """Why this limit, or why none, in a sentence; in another one, that the number is not stable."""
    if suggestion.limit is None:
        return _why_none(suggestion)
    halves = suggestion.halves
    return _why(suggestion) if halves is None or halves.agree else f"{_why(suggestion)} {_not_stable(halves)}"


def cautions(suggestion: Suggestion) -> list[str]:
    """What to know before the number is used, in sentences: it stands beside the number."""
    if suggestion.limit is None:
        return []
    found = [
        gettext(
            "Many people behind one address, as in an office or a mobile network, are one client if clients are told apart "
            "by address."
        ),
        gettext("Clients change once they are refused: ordinary ones wait, and attackers slow down or come from more addresses."),
    ]
    if suggestion.innocent_caught:
        found.insert(0, gettext("Look at the likely innocent clients that it catches, and exempt those that it must not refuse."))
    elif suggestion.without_apart is not None:
        text = ngettext(
            "%(number)s likely innocent client stands far above the others. If it is an exception, exempt it: without it, "
            "%(limit)s is suggested.",
            "%(number)s likely innocent clients stand far above the others. If they are exceptions, exempt them: without "
            "them, %(limit)s is suggested.",
            suggestion.apart,
        )
        found.insert(0, text % {"number": number(suggestion.apart), "limit": number(suggestion.without_apart)})
    if suggestion.whole_seconds and suggestion.period_ms <= 10_000:
        found.append(
            gettext(
                "Times of whole seconds are coarse for a period this short: a peak can be lower, or higher by one second's "
                "requests."
            )
        )
    return found


def _why(suggestion: Suggestion) -> str:
    if suggestion.basis == Basis.HEADROOM and suggestion.innocent < LEAST_FOR_PERCENTILE:
        message = gettext(
            "No client stands apart, so %(limit)s in %(period)s is the highest peak of the likely innocent, %(ordinary)s, with "
            "headroom."
        )
    elif suggestion.basis == Basis.HEADROOM and not suggestion.innocent_caught:
        message = gettext(
            "No client stands apart, so %(limit)s in %(period)s is the 99.9th percentile of the likely innocent, "
            "%(ordinary)s, with headroom."
        )
    elif suggestion.basis == Basis.HEADROOM:
        message = gettext(
            "No client stands apart, so %(limit)s in %(period)s is the 99.9th percentile of the likely innocent, "
            "%(ordinary)s, with headroom; of the likely innocent it catches %(innocent)s."
        )
    elif suggestion.innocent_caught:
        message = ngettext(
            "%(limit)s in %(period)s lies in a gap: %(caught)s client takes %(above)s or more, %(innocent)s of these likely "
            "innocent, and all others take at most %(below)s.",
            "%(limit)s in %(period)s lies in a gap: %(caught)s clients take %(above)s or more, %(innocent)s of these likely "
            "innocent, and all others take at most %(below)s.",
            suggestion.caught,
        )
    else:
        message = ngettext(
            "%(limit)s in %(period)s lies in a gap: %(caught)s client takes %(above)s or more, and all others, with all "
            "likely innocent ones, take at most %(below)s.",
            "%(limit)s in %(period)s lies in a gap: %(caught)s clients take %(above)s or more, and all others, with all "
            "likely innocent ones, take at most %(below)s.",
            suggestion.caught,
        )
    return message % {
        "caught": number(suggestion.caught),
        "innocent": number(suggestion.innocent_caught),
        "above": number(suggestion.above),
        "below": number(suggestion.below),
        "ordinary": number(suggestion.ordinary),
        "limit": number(suggestion.limit or 0),
        "period": duration(suggestion.period_ms),
    }


def _why_none(suggestion: Suggestion) -> str:
    period = duration(suggestion.period_ms)
    match suggestion.basis:
        case Basis.TOO_SHORT:
            least = duration(max(UNITS_MS["d"], 2 * suggestion.period_ms))
            values = {"span": duration(_rounded(suggestion.span_ms)), "least": least, "period": period}
            text = gettext("The requests cover %(span)s; to suggest a limit for %(period)s takes at least %(least)s.") % values
        case Basis.TOO_FEW:
            message = ngettext(
                "The requests are those of %(number)s client; to suggest a limit takes at least %(least)s.",
                "The requests are those of %(number)s clients; to suggest a limit takes at least %(least)s.",
                suggestion.clients,
            )
            text = message % {"number": number(suggestion.clients), "least": number(LEAST_CLIENTS)}
        case Basis.TOO_COARSE:
            text = gettext("The times of the requests are whole seconds, which say nothing about a period of %s.") % period
        case _:
            message = ngettext(
                "%(number)s client is likely innocent, and to suggest a limit takes at least %(least)s: clients who got "
                "only successful answers (2xx or 3xx), were signed in, or are never to be refused.",
                "%(number)s clients are likely innocent, and to suggest a limit takes at least %(least)s: clients who got "
                "only successful answers (2xx or 3xx), were signed in, or are never to be refused.",
                suggestion.innocent,
            )
            text = message % {"number": number(suggestion.innocent), "least": number(LEAST_INNOCENT)}
    return text


def _not_stable(halves: Halves) -> str:
    if halves.innocent < LEAST_IN_HALF:
        message = ngettext(
            "This is not stable: one half of the time has %(number)s likely innocent client, of at least %(least)s.",
            "This is not stable: one half of the time has %(number)s likely innocent clients, of at least %(least)s.",
            halves.innocent,
        )
        return message % {"number": number(halves.innocent), "least": number(LEAST_IN_HALF)}
    message = gettext(
        "This is not stable: the busiest of the likely innocent take %(first)s in the first half of the time and %(second)s "
        "in the second, which differ by more than a fifth."
    )
    return message % {"first": number(halves.first), "second": number(halves.second)}


def _rounded(milliseconds: int) -> int:
    """Without units below a hundredth of it: ``23h59m``, not ``23h59m58s120ms``."""
    for unit in (3_600_000, 60_000, 1000):
        if milliseconds >= 100 * unit or (milliseconds >= unit and milliseconds % unit == 0):
            return milliseconds // unit * unit
    return milliseconds
