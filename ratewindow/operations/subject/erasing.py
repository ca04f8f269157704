"""Finding and erasing a client's data, everywhere."""

from ratewindow.identity import is_hashed, split
from ratewindow.operations.subject import keys, recordings, rows
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import Named
from ratewindow.reporting import counters, minutes

# A process sends its counts of a minute as long as that lasts, and a last time soon after.
SETTLED_S = minutes.MINUTE_S + 3 * counters.FLUSH_S


def find(named: Named) -> list[Found]:
    """What is stored about a client, by place; places where nothing is are left out."""
    return [each for each in (*rows.find(named), *keys.find(named, _identities(named))) if each.number]


def erase(named: Named) -> None:
    """Erase it. What processes still hold of the minute in progress comes later: call it again `SETTLED_S` seconds after."""
    recordings.leave_out(named)
    counters.flush()
    keys.erase(named, _identities(named))  # before the rows: what is collected meanwhile has the stand-in already
    rows.erase(named)


def _identities(named: Named) -> set[str]:
    """Those of the client that are stored in clear, by which its counts can be found: also such as are joined with more."""
    stored = {*rows.identities(named), *keys.identities(named)}
    return {each for each in stored if not any(map(is_hashed, split(each)))}
