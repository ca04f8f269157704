"""Subjects of overrides: the text that names whom a block or an exemption is for, parsed.

``*`` is everybody. ``ip:203.0.113.0/24`` is a network; an address alone is the network that counts as one client.
``group:staff`` is a group of Django's users. All others are identities of keys: ``user:42``, ``header:x-api-key:...``, or
several that must all match, ``ip:203.0.113.9+post:username:ann``.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from ratewindow import conf
from ratewindow.identity import forms, is_hashed, joined, parse_identity, privacy, recipe, split
from ratewindow.identity.typed_values import MOST_WITH_SCOPE, check_number, kind_and_name, scope_first
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.overrides.networks import Network, parse_network
from ratewindow.overrides.users import canonical

EVERYBODY = "*"
MOST_CHARACTERS = 255  # of a subject, in the form that is stored
EXAMPLES = translatable("ip:203.0.113.0/24, user:42, group:staff or header:x-api-key:VALUE")
_GROUPS_ALONE = "a group cannot be joined with +: write group:NAME alone, or name one of its users, as in user:42"
_OF_OTHER_KINDS = ("user_or_ip", "global")  # keys whose identities are of another kind
_WIDEST = {4: 8, 6: 16}  # prefix lengths that one provider or company may have for itself; a shorter one is everybody
_OF_REQUESTS = ("method", "path", "route")
# Headers with the same value for many visitors, set by browsers or proxies; not `user-agent`, which identifies robots.
_OF_BROWSERS = frozenset(
    """accept accept-encoding accept-language cache-control connection content-type host origin pragma
    upgrade-insecure-requests x-forwarded-host x-forwarded-port x-forwarded-proto""".split()
)


class Subject(NamedTuple):
    """A network, a group, an identity of a key, or, with none of these, everybody."""

    text: str  # in its canonical form
    network: Network | None = None
    group: str = ""
    key: str = ""
    hashed: bool = False

    @property
    def everybody(self) -> bool:
        return self.text == EVERYBODY

    @property
    def meets_everybody(self) -> bool:
        """Whether it is for all visitors or nearly all: everybody, a network as wide as a continent, or a property of the
        request that does not identify a client."""
        if self.network is not None:
            return self.network.length < _WIDEST[self.network.version]
        return self.everybody or (bool(self.key) and all(map(_identifies_nobody, self.key.split("+"))))

    @property
    def one_client(self) -> bool:
        """Whether it is one client as rules count them, or a part of one."""
        return bool(self.key) or (self.network is not None and self.network.length >= _client_length(self.network.version))

    @property
    def counts_as_one(self) -> bool:
        """Whether it is a network that is exactly one client, so that its hash can match those of requests."""
        return self.network is not None and self.network.length == _client_length(self.network.version)


def parse_subject(text: str) -> Subject:
    """The subject that a text names. Raises ValueError."""
    text = text.strip()
    if text == EVERYBODY:
        return Subject(EVERYBODY)
    kind, _, value = text.partition(":")
    if kind == "ip" and not is_hashed(text) and "+" not in text:
        network = network_of(value)
        alone = network.version == 4 and network.length == 32 == _client_length(4)
        return Subject(f"ip:{network.first if alone else network}", network)
    if kind == "group" and value.strip():
        value = " ".join(value.splitlines())
        if any(map(_is_part, value.split("+")[1:])):
            raise Problem(_GROUPS_ALONE)
        return Subject(f"group:{value.strip()}", group=value.strip())
    typed = _parts(text)
    check_number(len(typed), MOST_WITH_SCOPE)
    parts = scope_first(map(_identity, typed))
    text = joined(parts) if len(parts) > 1 else parts[0]
    return Subject(text, key="+".join(map(_key_of, parts)), hashed=any(map(is_hashed, parts)))


def read_subject(text: str) -> Subject:
    """`parse_subject` for a text that `stored` returned; fast for common ones, since there may be a hundred thousand."""
    if text.startswith("ip:") and text[3:4] != "#":
        return Subject(text, network_of(text[3:]))
    if text.startswith("user:") and text[5:].isalnum():
        return Subject(text, key="user")
    return parse_subject(text)


def stored(subject: Subject) -> str:
    """The text for the row according to ``ANONYMIZE``: a secret only as a hash, which still matches its client.

    A network that is not exactly one client, a group and everybody are never hashed.
    """
    if subject.group or subject.everybody:
        return subject.text
    if subject.network is not None:
        if not subject.counts_as_one:
            return subject.text
        kept = privacy.stored(parse_identity(subject.text))
        return kept if is_hashed(kept) else subject.text
    parts = [privacy.stored(part) for part in split(subject.text)]
    return joined(parts) if len(parts) > 1 else parts[0]


def stored_forms(subject: Subject) -> set[str]:
    """Every text that `stored` may have returned, whatever ``ANONYMIZE`` was at that time."""
    if subject.group or subject.everybody:
        return {subject.text}
    if subject.network is not None:
        return {subject.text, *(forms(parse_identity(subject.text)) if subject.counts_as_one else ())}
    parts = split(subject.text)
    kept = product(*(((part,) if is_hashed(part) else forms(part)) for part in parts))
    return {joined(each) if len(parts) > 1 else each[0] for each in kept}


def masked(text: str) -> str:
    """For staff who may not see identities: enough to tell two of them apart, not enough to identify a client."""
    return _masked(text, privacy.anonymous)


def veiled(text: str) -> str:
    """As `masked`, without the hash, by which a reader could tell whether a row is about a client that they guess."""
    return _masked(text, privacy.kind_alone)


def _masked(text: str, each: Callable[[str], str]) -> str:
    try:
        subject = parse_subject(text)
    except ValueError:
        return "somebody"
    network = subject.network
    if network is None:
        parts = map(each, split(subject.text))
        return " + ".join(parts) if subject.key else subject.text
    if network.version == 4:
        return f"ip:{network.first.rpartition('.')[0]}.x" if network.length > _SHOWN[4] else subject.text
    return f"ip:{network.shortened(_SHOWN[6])}"


_SHOWN = {4: 24, 6: 48}  # the prefix of an address that is shown to everybody who may see the list of blocks


def users_in(subject: Subject) -> list[str]:
    """The primary keys of the users that it names, except those stored as a hash."""
    parts = split(subject.text) if subject.key else ()
    return [part.partition(":")[2] for part in parts if part.startswith("user:") and not is_hashed(part)]


def in_words(text: str) -> str:
    """For staff who may see identities: the parts of a joined identity without their lengths."""
    return " + ".join(split(text))


def network_of(text: str) -> Network:
    """The network after ``ip:``; for an address alone, the network that counts as one client."""
    return parse_network(text, _client_length(4), _client_length(6))


def _identifies_nobody(key: str) -> bool:
    kind, _, name = key.partition(":")
    return kind in _OF_REQUESTS or (kind == "header" and (name in _OF_BROWSERS or name.startswith("sec-")))


def _client_length(version: int) -> int:
    return conf.current().ipv4_prefix if version == 4 else conf.current().ipv6_prefix


def _identity(part: str) -> str:
    """One typed value as requests have it."""
    if is_hashed(part):
        _key_of(part)
        return part
    identity = parse_identity(part)
    _key_of(identity)
    kind, _, value = part.partition(":")
    if kind == "ip" and "/" in value and not Subject(part, network_of(value)).counts_as_one:
        raise Problem("{part!r} is not one client, and cannot be joined with +: write one address", part=part)
    return f"user:{canonical(value)}" if kind == "user" else identity


def _parts(text: str) -> tuple[str, ...]:
    """The typed values of a joined identity, or of one that a person wrote with +."""
    if len(parts := split(text)) > 1:
        return parts
    first, *others = text.split("+")
    found = [first]
    for piece in others:
        if _is_part(piece):
            found[-1] = found[-1].rstrip()
            found.append(piece.strip())
        else:
            found[-1] += f"+{piece}"  # a + in a value
    if any(part.startswith("group:") for part in found[1:]):
        raise Problem(_GROUPS_ALONE)
    return tuple(found)


def _is_part(piece: str) -> bool:
    """Whether the text after a + is another part, not the rest of a value."""
    text = piece.strip()
    kind, _, value = text.partition(":")
    if kind == "group" and value.strip():
        return True
    try:
        _identity(text)
    except ValueError:
        return False
    return True


def _key_of(part: str) -> str:
    """The key of a typed value: ``header:x-api-key`` for ``header:X-Api-Key:one``. Raises ValueError."""
    kind, name, value = kind_and_name(part)
    if not value.strip() or kind in _OF_OTHER_KINDS:
        raise Problem(
            "{part!r} names no client: write for example {examples}; * means everybody", part=part[:64], examples=EXAMPLES
        )
    key = f"{kind}:{name}" if name else kind
    recipe(key)
    return key
