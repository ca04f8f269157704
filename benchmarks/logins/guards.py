"""The four guards that the ten attacks are played against."""

from benchmarks.logins.attacks import ATTACKS, RIGHT_LOGINS
from benchmarks.logins.children import told
from benchmarks.logins.rows import Count, Verdict
from benchmarks.tables import Row, Section

GUARDS = {"ours": "ratewindow", "axes": "django-axes", "axes-by-name": "axes, by name", "cookies": "device-cookies"}
ABOUT = """\
The table says how many guesses reached the hasher, of as many as the row says, and whether the victim got in meanwhile. The
rules of ratewindow are those of `manage.py ratewindow protect --enforce`, the others have their defaults; *by name* is
`AXES_LOCKOUT_PARAMETERS = ["username"]`. Fewer guesses are not enough: a guard that lets nobody try a name lets any stranger
lock its owner out."""


def section() -> Section:
    seen = {guard: told("attacks", guard) for guard in GUARDS}
    rows: list[Row] = []
    for name, (_, at_most) in ATTACKS.items():
        values = [seen[guard][name] for guard in GUARDS]
        rows.append(Count(name, tuple(map(str, values)), at_most, values[0]))
    for name in RIGHT_LOGINS:
        verdicts = [Verdict(name, (), 0, seen[guard][name]) for guard in GUARDS]
        cells = tuple(each.figure(each.value) for each in verdicts)
        rows.append(Verdict(name, cells, 0, verdicts[0].value))
    return Section("Ten attacks, four guards", ABOUT, rows, ("", *GUARDS.values(), "at most"))
