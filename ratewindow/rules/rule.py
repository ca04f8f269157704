"""A rule as a frozen value, as requests match it, and the checks of its fields."""

import difflib
import hashlib
import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

from ratewindow.identity import Recipe, recipe
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.penalties import Penalty
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.limiter.types import Window
from ratewindow.rules.regex import check_regex
from ratewindow.store import state_keys

MODES = ("off", "shadow", "enforce")
ON_MISSING = ("ip", "allow", "refuse")
ON_ERROR = ("", "allow", "refuse", "local")
PLACES = ("named", "all", "path", "prefix", "regex", "route")  # values of applies_to; rooms may have others
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}\Z"
BLOCKS = "blocks"  # the name under which blocks are counted that no enforced rule would have matched; reserved
NAME_WORDS = translatable("at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit")


ALWAYS = "always"
LOGIN_FAILED = "login_failed"


@dataclass(frozen=True)
class CountWhen:
    """What makes a request count: a login that failed during it, or the status of its response."""

    login_failed: bool = False
    statuses: frozenset[int] = frozenset()

    def counts(self, status: int | None, login_failed: bool) -> bool:
        """Whether a request counts whose response has this status, which is None where there is no response to look at."""
        return login_failed if self.login_failed else status in self.statuses


def written(text: str) -> str:
    """The condition in the form in which it is stored: ``always`` for `` ALWAYS ``, ``401,5xx`` for ``401 5XX``."""
    return ",".join(_words(text))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text.lower()) if word]


@lru_cache(maxsize=256)
def parse_count_when(text: str) -> CountWhen | None:
    """``"login_failed"``, or statuses such as ``"401,403,5xx"``; None for ``"always"``. Raises ValueError."""
    words = _words(text)
    if words == [ALWAYS]:
        return None
    if words == [LOGIN_FAILED]:
        return CountWhen(login_failed=True)
    statuses: set[int] = set()
    for word in words or [""]:
        if not re.fullmatch(r"[1-5](xx|[0-9][0-9])", word):
            raise Problem(
                "{word!r} is not a status: write {always}, {login_failed}, or statuses such as 401,403,5xx",
                word=word[:20],
                always=ALWAYS,
                login_failed=LOGIN_FAILED,
            )
        statuses.update(range(int(word.replace("x", "0")), int(word.replace("x", "9")) + 1))
    return CountWhen(statuses=frozenset(statuses))


@dataclass(frozen=True)
class Rule:
    """One rule. Empty `methods` means all; `applies_to` says what `pattern` is."""

    name: str
    windows: tuple[Window, ...]
    mode: str = "enforce"  # off, shadow, enforce
    key: str = "ip"
    on_missing: str = "ip"  # ip, allow, refuse
    normalise: bool = False  # values that differ only in case, blanks or Unicode form are one client
    applies_to: str = "named"  # one of PLACES, or of a room's targets
    pattern: str = ""
    methods: frozenset[str] = frozenset()
    cost: int = 1
    count_when: CountWhen | None = None  # None: every request counts
    hold: bool = False  # charge before the view, and refund if the response does not count
    forgive: bool = False  # delete what was counted for a client once it succeeds
    count_refused: bool = False
    penalty_ms: Penalty = 0
    limits_from: str = ""  # the name of a function of the site's, which gives each client its limits instead of `windows`
    is_given: bool = False  # whether that function has given `windows`
    enforce_percent: int = 100  # the percentage of clients, always the same ones; for the others it is in shadow
    on_error: str = ""  # allow, refuse, local; empty: the setting ON_ERROR
    response_status: int = 429
    message: str = ""  # what a refused client reads; empty: the default sentence
    is_beside: bool = False  # in shadow beside a rate in code of its name, and counting apart from it
    soft: bool = False  # over its limit requests pass and count on

    def __post_init__(self) -> None:
        """What goes with a refusal has no meaning for a soft rule, which may have been a hard one before."""
        if self.soft:
            vars(self).update(penalty_ms=0, count_refused=False)

    @cached_property
    def recipe(self) -> Recipe:
        return recipe(self.key, self.normalise)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """The part of each window's key between the prefix and the identity."""
        return tuple(state_keys.state_name(self.name, window.tag, self.is_beside) for window in self.windows)

    @cached_property
    def asked(self) -> tuple[Window, ...]:
        """The windows that the store is asked about: of a soft rule with the highest limit, so that there is always room."""
        return tuple(map(_at_its_highest, self.windows)) if self.soft else self.windows

    @cached_property
    def lock_name(self) -> str:
        """The part of the key of a penalty's lock between the prefix and the identity; empty without a penalty."""
        return state_keys.state_name(self.name, state_keys.LOCK_TAG, self.is_beside) if self.penalty_ms else ""

    @cached_property
    def by_returned(self) -> "dict[Any, Rule]":
        """This rule with other windows, by what `limits_from` has returned: a plan has many clients."""
        return {}

    @property
    def only_looks(self) -> bool:
        """Whether it only peeks before the view, and charges after the response."""
        return self.count_when is not None and not self.hold

    def meets_method(self, method: str | None) -> bool:
        """Whether the rule applies to this method. HEAD counts as GET."""
        return not self.methods or method in self.methods or (method == "HEAD" and "GET" in self.methods)

    @cached_property
    def is_usual(self) -> bool:
        """Whether the store needs only its name, windows, cost and mode."""
        counts_each = not self.penalty_ms and not self.count_refused and self.count_when is None
        return counts_each and self.enforce_percent == 100

    def enforces(self, client: str) -> bool:
        """Whether the rule is enforced for this client; `client` is the tag at the end of its keys.

        A client for whom the rule is enforced at 10 percent is among those at 20 percent, too.
        """
        if self.mode != "enforce" or self.enforce_percent == 100:
            return self.mode == "enforce"
        digest = hashlib.blake2b(f"{self.name} {client}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) % 100 < self.enforce_percent

    @cached_property
    def decision_keys(self) -> frozenset[tuple[str, str]]:
        """Name and mode in every decision that this rule may make."""
        mode = "soft" if self.soft and self.mode == "enforce" else self.mode
        modes = (mode, "shadow") if self.mode == "enforce" and self.enforce_percent < 100 else (mode,)
        return frozenset((self.name, mode) for mode in modes)

    @cached_property
    def unconditional(self) -> "Rule":
        """This rule without `count_when`: a call from code, such as `hit`, always counts."""
        return replace(self, count_when=None, hold=False, forgive=False)

    @cached_property
    def beside(self) -> "Rule":
        """This rule in shadow, with a count apart from that of the rate that code enforces under its name."""
        return replace(self, is_beside=True)

    def with_windows(self, windows: tuple[Window, ...], limits_from: str = "") -> "Rule":
        """This rule with other windows, and with the same recipe. They are final, unless they are those of `limits_from`."""
        rule = self.with_recipe(self.recipe)
        vars(rule).update(windows=windows, limits_from=limits_from, is_given=limits_from != "")
        for cached in ("state_names", "asked"):
            vars(rule).pop(cached, None)
        return rule

    def with_identity(self, identity: str) -> "Rule":
        """This rule counting every request for that client, whatever its key says."""
        return self.with_recipe(Recipe(self.key, (lambda request: identity,)))

    def with_recipe(self, recipe: Recipe) -> "Rule":
        """This rule with a recipe that its key does not name."""
        rule = copy(self)  # keeps the cached names of its state
        for cached in ("unconditional", "beside", "by_returned"):  # these have this rule's recipe
            vars(rule).pop(cached, None)
        vars(rule)["recipe"] = recipe
        return rule


def _at_its_highest(window: Window) -> Window:
    return replace(window, limit=algorithm(window.algorithm).most_units(window.period_ms))


def check_name(name: str) -> None:
    """Raise ValueError if this cannot be the name of a rule."""
    if name == BLOCKS:
        raise Problem("{blocks!r} is reserved for the counts of blocked requests: choose another name", blocks=BLOCKS)
    if not isinstance(name, str) or not re.match(NAME_PATTERN, name):
        if isinstance(name, str) and ("/" in name or " per " in name):
            raise Problem("{name!r} is a rate in the place of a rule's name: write rate={name!r}, or a name before it", name=name)
        raise Problem("{name!r} is not a rule name: use {words}", name=name, words=NAME_WORDS)


def check_pattern(applies_to: str, pattern: str) -> None:
    """Raise ValueError if the pattern does not go with `applies_to`."""
    match applies_to:
        case "path" | "prefix":
            if not pattern.startswith("/"):
                raise Problem("{pattern!r} is not a path: begin with /, as in /login/", pattern=pattern)
            if "?" in pattern or "#" in pattern:
                raise Problem("{pattern!r} is more than a path: write the part before ? and #", pattern=pattern)
            if (decoded := unquote(pattern)) != pattern:
                raise Problem(
                    "{pattern!r} is percent-encoded, and paths are compared decoded: write {decoded}",
                    pattern=pattern,
                    decoded=decoded,
                )
        case "regex":
            if not pattern:
                raise Problem("an empty regular expression matches every path: write for example ^/api/v[0-9]+/")
            check_regex(pattern)
        case "route":
            if not re.fullmatch(r"[^\s:]+(:[^\s:]+)*", pattern):
                raise Problem(
                    "{pattern!r} is not a URL name: write for example login, shop:checkout, or shop for all of it",
                    pattern=pattern,
                )
        case _ if pattern:
            raise Problem("a rule of this kind has no pattern: clear {pattern!r}, or change what it applies to", pattern=pattern)


def check_hold(waits: bool, count_when: str) -> None:
    """Raise ValueError if units are held, or to be forgiven, by a response that cannot change what counts."""
    if waits and written(count_when) == ALWAYS:
        raise Problem(
            "every request counts, so nothing is refunded or forgiven: write what counts, such as login_failed, or switch off "
            "hold and forgive"
        )


def check_soft(soft: bool, windows: Iterable[Window]) -> None:
    """Raise ValueError if a soft rule has a limit that is not counted on above it."""
    for window in windows:
        if soft and window.algorithm != "fixed_window":
            raise Problem(
                "a soft limit is counted by fixed_window, not by {algorithm}: choose fixed_window, or clear soft limit",
                algorithm=window.algorithm,
            )


def parse_methods(text: str) -> frozenset[str]:
    """``"POST, put"`` as methods in capitals. Raises ValueError for one that is not registered, and names the nearest one."""
    methods = frozenset(part.upper() for part in re.split(r"[\s,]+", text) if part)
    for method in sorted(methods - KNOWN_METHODS):
        near = difflib.get_close_matches(method, _USUAL_METHODS, n=1) or ["POST"]
        raise Problem("{method!r} is not a registered HTTP method: did you mean {near}?", method=method, near=near[0])
    return methods


_USUAL_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
KNOWN_METHODS = frozenset(  # IANA's registry, and two methods of caches
    (
        *_USUAL_METHODS,
        *"ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL".split(),
        *"MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PRI PROPFIND PROPPATCH QUERY REBIND REPORT SEARCH UNBIND".split(),
        *"UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL BAN PURGE".split(),
    )
)
