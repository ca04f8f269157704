"""Finding and erasing a client's data, everywhere."""

from ratewindow.operations.subject import keys, recordings, rows
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import Named
from ratewindow.reporting import counters, minutes

# A process sends its counts of a minute as long as that lasts, and a last time soon after.
SETTLED_S = minutes.MINUTE_S + 3 * counters.FLUSH_S


def find(named: Named) -> list[Found]:
    """What is stored about a client, by place; places where nothing is are left out."""
    _learn(named)
    return [each for each in (*rows.find(named), *keys.find(named)) if each.number]


def erase(named: Named) -> None:
    """Erase it. What processes still hold of the minute in progress comes later: call it again `SETTLED_S` seconds after."""
    _learn(named)
    recordings.leave_out(named)
    counters.flush()
    keys.erase(named)  # before the rows: what is collected meanwhile has the stand-in already
    rows.erase(named)


def _learn(named: Named) -> None:
    """How clients have spelled it is known by what is stored in clear."""
    named.learn([*rows.identities(named), *keys.identities(named)])
