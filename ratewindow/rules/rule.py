"""A rule as a frozen value, as requests meet it, and the checks of its fields."""

import difflib
import hashlib
import re
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote

from ratewindow.identity import Recipe, recipe
from ratewindow.limiter.problem import Problem, translatable
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
BLOCKS = "blocks"  # the name under which blocks are counted that no enforced rule would have met; reserved
NAME_WORDS = translatable("at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit")


@dataclass(frozen=True)
class Rule:
    """One rule. Empty `methods` means all; `applies_to` says what `pattern` is."""

    name: str
    windows: tuple[Window, ...]
    mode: str = "enforce"  # off, shadow, enforce
    key: str = "ip"
    on_missing: str = "ip"  # ip, allow, refuse
    normalise: bool = False  # values that differ only in case, blanks or Unicode form are one client
    applies_to: str = "named"  # named, all, path, prefix, regex, route
    pattern: str = ""
    methods: frozenset[str] = frozenset()
    cost: int = 1
    count_when: CountWhen | None = None  # None: every request counts
    hold: bool = False  # charge before the view, and refund if the response does not count
    count_refused: bool = False
    penalty_ms: int = 0
    enforce_percent: int = 100  # the percentage of clients, always the same ones; for the others it is in shadow
    on_error: str = ""  # allow, refuse, local; empty: the setting ON_ERROR
    response_status: int = 429
    message: str = ""  # what a refused client reads; empty: the default sentence
    lease: int = 1  # units that a process takes from the store at a time
    candidate: tuple[Window, ...] = ()  # limits that are judged in shadow beside the rule's own, by the same requests
    is_beside: bool = False  # in shadow beside the one of its name that is enforced, and counting apart from it

    @cached_property
    def recipe(self) -> Recipe:
        return recipe(self.key, self.normalise)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """The part of each window's key between the prefix and the identity."""
        return tuple(state_keys.state_name(self.name, window, self.is_beside) for window in self.windows)

    @cached_property
    def lock_name(self) -> str:
        """The part of the key of a penalty's lock between the prefix and the identity; empty without a penalty."""
        return state_keys.lock_name(self.name, self.is_beside) if self.penalty_ms else ""

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
        return counts_each and self.enforce_percent == 100 and self.lease == 1

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
        modes = (self.mode, "shadow") if self.mode == "enforce" and self.enforce_percent < 100 else (self.mode,)
        return frozenset((self.name, mode) for mode in modes)

    @cached_property
    def unconditional(self) -> "Rule":
        """This rule without `count_when`: a call from code, such as `hit`, always counts."""
        return replace(self, count_when=None, hold=False)

    @cached_property
    def beside(self) -> "Rule":
        """This rule in shadow, with a count apart from what is enforced under its name: a rate in code or, beside its
        candidate, the rule itself."""
        if self.candidate:
            return replace(self, mode="shadow", windows=self.candidate, lease=1, is_beside=True)
        return replace(self, is_beside=True)

    @property
    def is_candidate(self) -> bool:
        """Whether these are the limits that are tried, not those that hold."""
        return self.is_beside and bool(self.candidate)

    def with_windows(self, windows: tuple[Window, ...]) -> "Rule":
        """This rule with other windows, and with the same recipe."""
        rule = copy(self)
        object.__setattr__(rule, "windows", windows)
        for cached in ("state_names", "unconditional", "beside"):
            vars(rule).pop(cached, None)
        return rule

    def with_identity(self, identity: str) -> "Rule":
        """This rule counting every request for that client, whatever its key says."""
        return self.with_recipe(Recipe(self.key, (lambda request: identity,)))

    def with_recipe(self, recipe: Recipe) -> "Rule":
        """This rule with a recipe that its key does not name."""
        rule = copy(self)  # keeps the cached names of its state
        for cached in ("unconditional", "beside"):  # these have this rule's recipe
            vars(rule).pop(cached, None)
        vars(rule)["recipe"] = recipe
        return rule


def check_name(name: str) -> None:
    """Raise ValueError if this cannot be the name of a rule."""
    if name == BLOCKS:
        raise Problem("{blocks!r} is reserved for the counts of blocked requests: choose another name", blocks=BLOCKS)
    if not isinstance(name, str) or not re.match(NAME_PATTERN, name):
        if isinstance(name, str) and _is_rate(name):
            raise Problem("{name!r} is a rate in the place of a rule's name: write rate={name!r}, or a name before it", name=name)
        near = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[:64] if isinstance(name, str) else ""
        if near:
            raise Problem(
                "{name!r} is not a rule name: use {words}; for example {near!r}", name=name, words=NAME_WORDS, near=near
            )
        raise Problem("{name!r} is not a rule name: use {words}", name=name, words=NAME_WORDS)


def _is_rate(text: str) -> bool:
    try:
        return bool(parse_rates(text))
    except ValueError:
        return False


def check_pattern(applies_to: str, pattern: str) -> None:
    """Raise ValueError if the pattern does not go with `applies_to`."""
    match applies_to:
        case "path" | "prefix":
            _check_path(pattern)
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
        case _:
            if pattern:
                raise Problem(
                    "a rule of this kind has no pattern: clear {pattern!r}, or change what it applies to", pattern=pattern
                )


def _check_path(pattern: str) -> None:
    if not pattern.startswith("/"):
        raise Problem("{pattern!r} is not a path: begin with /, as in /login/", pattern=pattern)
    if "?" in pattern or "#" in pattern:
        raise Problem("{pattern!r} is more than a path: write the part before ? and #", pattern=pattern)
    if (decoded := unquote(pattern)) != pattern:
        raise Problem(
            "{pattern!r} is percent-encoded, and paths are compared decoded: write {decoded}", pattern=pattern, decoded=decoded
        )


def check_hold(hold: bool, count_when: str) -> None:
    """Raise ValueError if units are held for a response that cannot change what counts."""
    if hold and counts_always(count_when):
        raise Problem("every request counts, so nothing is refunded: write what counts, such as login_failed, or do not hold")


def check_candidate(candidate: str, count_refused: bool) -> None:
    """Raise ValueError if these are no limits that could be tried beside a rule's own."""
    if parse_rates(candidate) and count_refused:
        raise Problem(
            "{candidate!r} cannot be tried beside a rule that counts refused requests: clear it, or do not count them",
            candidate=candidate,
        )


def check_lease(lease: int | None, penalty: bool, count_refused: bool, count_when: str) -> None:
    """Raise ValueError if a rule with a lease has an option for which Redis must see every request."""
    option = "a penalty" if penalty else "counting refused requests" if count_refused else ""
    if not option and not counts_always(count_when):
        option = "a condition for counting"
    if lease and lease > 1 and option:
        raise Problem(
            "a lease of {lease} cannot be combined with {option}: write 1, or leave that out", lease=lease, option=option
        )


def parse_methods(text: str) -> frozenset[str]:
    """``"POST, put"`` as methods in capitals. Raises ValueError."""
    methods = [part.upper() for part in re.split(r"[\s,]+", text) if part]
    for method in methods:
        if not re.fullmatch(r"[A-Z-]{1,20}", method):
            raise Problem("{method!r} is not an HTTP method: write for example POST or GET,HEAD", method=method)
        if method in ("ALL", "ANY"):
            raise Problem("{method!r} is not an HTTP method: leave methods empty for all of them", method=method)
    return frozenset(methods)


def check_methods(text: str) -> frozenset[str]:
    """`parse_methods`, which also raises ValueError for a method that is not registered, and names the nearest one."""
    methods = parse_methods(text)
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
