"""A rule as a frozen value, which is all that the request path sees, and what its fields may say."""

import difflib
import hashlib
import re
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote

from ratewindow.identity import Recipe, recipe
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.rules.count_when import CountWhen, counts_always
from ratewindow.rules.regex import check_regex
from ratewindow.store import state_keys

MODES = ("off", "shadow", "enforce")
APPLIES_TO = ("named", "all", "path", "prefix", "regex", "route")
ON_MISSING = ("ip", "allow", "refuse")
ON_ERROR = ("", "allow", "refuse", "local")
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}\Z"
BLOCKS = "blocks"  # the name under which a block is counted where no enforced rule is met; no rule may have it
NAME_WORDS = "at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit"


@dataclass(frozen=True)
class Rule:
    """One rule. `methods` empty means all; `pattern` is meant as `applies_to` says."""

    name: str
    windows: tuple[Window, ...]
    mode: str = "enforce"  # off, shadow, enforce
    key: str = "ip"
    on_missing: str = "ip"  # ip, allow, refuse
    normalise: bool = False  # values that differ only in case, blanks or Unicode's forms are one client
    applies_to: str = "named"  # named, all, path, prefix, regex, route
    pattern: str = ""
    methods: frozenset[str] = frozenset()
    cost: int = 1
    count_when: CountWhen | None = None  # None: every request counts
    hold: bool = False  # charged before the view, and refunded once the answer turns out not to count
    count_refused: bool = False
    penalty_ms: int = 0
    enforce_percent: int = 100  # of a hundred clients, always the same ones; for the others it is in shadow
    on_error: str = ""  # allow, refuse, local; empty: as the setting says
    response_status: int = 429
    message: str = ""  # what a refused client reads; empty: the usual sentence
    lease: int = 1  # units that a process takes from the store at a time
    beside_code: bool = False  # a shadow row next to the rate in code that it is to replace

    @cached_property
    def recipe(self) -> Recipe:
        return recipe(self.key, self.normalise)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """How the key of each window begins, between the prefix and the identity."""
        return tuple(state_keys.state_name(self.name, window, self.beside_code) for window in self.windows)

    @cached_property
    def lock_name(self) -> str:
        """The same for the lock that a penalty sets; empty without one."""
        return state_keys.lock_name(self.name, self.beside_code) if self.penalty_ms else ""

    @property
    def only_looks(self) -> bool:
        """Whether it charges nothing before the answer is there."""
        return self.count_when is not None and not self.hold

    def meets_method(self, method: str | None) -> bool:
        """HEAD is a GET whose body is not sent, so it counts as one."""
        return not self.methods or method in self.methods or (method == "HEAD" and "GET" in self.methods)

    @cached_property
    def is_usual(self) -> bool:
        """Whether its name, windows, cost and mode are all that the store is told of it."""
        counts_each = not self.penalty_ms and not self.count_refused and self.count_when is None
        return counts_each and self.enforce_percent == 100 and self.lease == 1

    def enforces(self, client: str) -> bool:
        """Whether it refuses this client, or is still in shadow for it: `client` is the tag that its keys end with.

        Whoever is among the first ten of a hundred clients is also among the first twenty.
        """
        if self.mode != "enforce" or self.enforce_percent == 100:
            return self.mode == "enforce"
        place = hashlib.blake2b(f"{self.name} {client}".encode(), digest_size=8).digest()
        return int.from_bytes(place) % 100 < self.enforce_percent

    @cached_property
    def decision_keys(self) -> frozenset[tuple[str, str]]:
        """Name and mode, as decisions of this rule have them."""
        modes = (self.mode, "shadow") if self.mode == "enforce" and self.enforce_percent < 100 else (self.mode,)
        return frozenset((self.name, mode) for mode in modes)

    @cached_property
    def unconditional(self) -> "Rule":
        """This rule, counting whatever the answer will be: code that charges it by name knows what it counts."""
        return replace(self, count_when=None, hold=False)

    @cached_property
    def counting_beside_code(self) -> "Rule":
        """This rule, counting apart from the rate in code under the same name."""
        return replace(self, beside_code=True)

    def with_windows(self, windows: tuple[Window, ...]) -> "Rule":
        """This rule, with other limits; who it sees in a request stays."""
        held = copy(self)
        object.__setattr__(held, "windows", windows)
        for other in ("state_names", "unconditional", "counting_beside_code"):
            vars(held).pop(other, None)
        return held

    def with_identity(self, identity: str) -> "Rule":
        """This rule, seeing that client in every request, whatever its key says."""
        seen = copy(self)  # with its keys' names, which are not made anew
        for other in ("unconditional", "counting_beside_code"):  # which would see whom this rule saw
            vars(seen).pop(other, None)
        vars(seen)["recipe"] = Recipe(self.key, (lambda request: identity,))
        return seen


def check_name(name: str) -> None:
    if name == BLOCKS:
        raise ValueError(f"{BLOCKS!r} is where requests are counted that a block refuses: choose another name")
    if not isinstance(name, str) or not re.match(NAME_PATTERN, name):
        if isinstance(name, str) and _is_rate(name):
            raise ValueError(f"{name!r} is a rate, where the name of a rule belongs: write rate={name!r}, or a name before it")
        near = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[:64] if isinstance(name, str) else ""
        raise ValueError(f"{name!r} is no rule name: use {NAME_WORDS}" + (f"; for example {near!r}" if near else ""))


def _is_rate(text: str) -> bool:
    try:
        return bool(parse_rates(text))
    except ValueError:
        return False


def check_pattern(applies_to: str, pattern: str) -> None:
    """ValueError says what is wrong with a pattern, and what to write instead."""
    match applies_to:
        case "path" | "prefix":
            _check_path(pattern)
        case "regex":
            if not pattern:
                raise ValueError("an empty regular expression meets everything: write for example ^/api/v[0-9]+/")
            check_regex(pattern)
        case "route":
            if not re.fullmatch(r"[^\s:]+(:[^\s:]+)*", pattern):
                raise ValueError(
                    f"{pattern!r} is no name of a URL: write for example login, shop:checkout, or shop for all of it"
                )
        case _:
            if pattern:
                raise ValueError(f"only a rule for a path or a route has a pattern: clear {pattern!r}, or choose one of these")


def _check_path(pattern: str) -> None:
    if not pattern.startswith("/"):
        raise ValueError(f"{pattern!r} is no path: begin with /, as in /login/")
    if "?" in pattern or "#" in pattern:
        raise ValueError(f"{pattern!r} is more than a path: write the part before ? and #")
    if (decoded := unquote(pattern)) != pattern:
        raise ValueError(f"{pattern!r} is percent-encoded, paths are compared decoded: write {decoded}")


def check_hold(hold: bool, count_when: str) -> None:
    """ValueError when units are to be held until an answer that nobody waits for."""
    if hold and counts_always(count_when):
        raise ValueError("what always counts is charged at once: say what counts, such as login_failed, or do not hold")


def check_lease(lease: int | None, penalty: bool, count_refused: bool, count_when: str) -> None:
    """ValueError when a rule that must know of each request is to take units many at a time."""
    each = "a penalty" if penalty else "refused requests that count" if count_refused else ""
    if not each and not counts_always(count_when):
        each = "a condition for counting"
    if lease and lease > 1 and each:
        raise ValueError(f"a lease of {lease} does not go with {each}: write 1, or leave that out")


def parse_methods(text: str) -> frozenset[str]:
    """``"POST, put"`` as methods in capitals; ValueError names what is no method."""
    methods = [part.upper() for part in re.split(r"[\s,]+", text) if part]
    for method in methods:
        if not re.fullmatch(r"[A-Z-]{1,20}", method):
            raise ValueError(f"{method!r} is no HTTP method: write for example POST or GET,HEAD")
        if method in ("ALL", "ANY"):
            raise ValueError(f"{method!r} is no HTTP method: leave methods out, and the rule is for all of them")
    return frozenset(methods)


def check_methods(text: str) -> frozenset[str]:
    """`parse_methods` of what a person writes now; ValueError also names a method that nobody knows, and the nearest."""
    methods = parse_methods(text)
    for method in sorted(methods - KNOWN_METHODS):
        near = difflib.get_close_matches(method, _USUAL_METHODS, n=1) or ["POST"]
        raise ValueError(f"{method!r} is no HTTP method that is registered: did you mean {near[0]}?")
    return methods


_USUAL_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
KNOWN_METHODS = frozenset(  # IANA's, and two of caches
    (
        *_USUAL_METHODS,
        *"ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL".split(),
        *"MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PRI PROPFIND PROPPATCH QUERY REBIND REPORT SEARCH UNBIND".split(),
        *"UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL BAN PURGE".split(),
    )
)
