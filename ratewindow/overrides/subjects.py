"""Subjects of overrides: the text that names whom a block or an exemption is for, parsed.

``*`` is everybody. ``ip:203.0.113.0/24`` is a network; an address alone is the network that counts as one client.
``group:staff`` is a group of Django's users, ``staff`` one of the `conditions`. All others are identities of keys: ``user:42``,
``header:x-api-key:...``, or several that must all match, ``ip:203.0.113.9+post:username:ann``.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import NamedTuple

from ratewindow import conf
from ratewindow.identity import forms, is_hashed, joined, parse_identity, privacy, recipe, split
from ratewindow.identity.address import parse_address
from ratewindow.identity.custom_keys import SCOPE
from ratewindow.identity.typed_values import MOST_WITH_SCOPE, check_number, kind_and_name, scope_first
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.overrides import conditions, users

EVERYBODY = "*"
MOST_CHARACTERS = 255  # of a subject, in the form that is stored
_SUBJECTS = translatable("ip:203.0.113.0/24, user:42, group:staff or header:x-api-key:VALUE")
_OF_OTHER_KINDS = ("user_or_ip", "global")  # keys whose identities are of another kind
_WIDEST = {4: 8, 6: 16}  # prefix lengths that one provider or company may have for itself; a shorter one is everybody
_OF_REQUESTS = ("method", "path", "route")
_OF_TARGETS = ("login", "post", "body")  # what anybody can write into a form, such as the name of somebody else
# Headers with the same value for many visitors, set by browsers or proxies; not `user-agent`, which identifies robots.
_OF_BROWSERS = frozenset(
    """accept accept-encoding accept-language cache-control cdn-loop connection content-type cookie dnt host origin pragma
    priority te upgrade-insecure-requests via x-forwarded-host x-forwarded-port x-forwarded-proto""".split()
)
EXAMPLES = translatable("203.0.113.9, 203.0.113.0/24, user:42, group:staff or header:x-api-key:VALUE")
EVERYBODY_TOGETHER = "global"  # the one client of rules that count all together
BITS = {4: 32, 6: 128}


class Network(NamedTuple):
    """A network as integers, since a hundred thousand of them are read at a time."""

    version: int  # 4 or 6
    number: int  # of its first address
    length: int  # of its prefix, 32 or 128 for a single address

    def __str__(self) -> str:
        """``203.0.113.0/24``."""
        return f"{self.first}/{self.length}"

    @property
    def first(self) -> str:
        """Its first address, as text."""
        return str(ipaddress.IPv4Address(self.number) if self.version == 4 else ipaddress.IPv6Address(self.number))

    def shortened(self, length: int) -> "Network":
        """The network of that prefix length that contains this one; this one if it is no longer than that."""
        length = min(length, self.length)
        free = BITS[self.version] - length
        return Network(self.version, self.number >> free << free, length)


def parse_network(text: str, ipv4_length: int = 32, ipv6_length: int = 128) -> Network:
    """``203.0.113.0/24`` as a network; an address alone becomes a network of the given prefix length.

    A network within those of IPv4 addresses in IPv6 becomes IPv4, as clients' addresses do. Raises ValueError.
    """
    written, slash, digits = text.strip().partition("/")
    address = parse_address(written)
    if address is None or (slash and not (digits.isascii() and digits.isdigit() and len(digits) < 4)):
        raise Problem(
            "{text!r} is neither an address nor a network: write for example 203.0.113.9 or 203.0.113.0/24", text=text[:64]
        )
    is_within_ipv6 = address.version == 4 and written.count(":") > 1
    if slash and is_within_ipv6 and int(digits) < 96:  # it is more than IPv4
        address, is_within_ipv6 = ipaddress.IPv6Address(written), False
    version, bits = address.version, address.max_prefixlen
    length = ipv4_length if version == 4 else ipv6_length
    if slash:
        length = int(digits) - 96 if is_within_ipv6 else int(digits)
    if not 0 <= length <= bits:
        raise Problem("{text!r}: an IPv{version} network ends in /0 to /{bits}", text=text[:64], version=version, bits=bits)
    free = bits - length
    return Network(version, int(address) >> free << free, length)


class Subject(NamedTuple):
    """A network, a group, a condition, an identity of a key, or, with none of these, everybody."""

    text: str  # in its canonical form
    network: Network | None = None
    group: str = ""
    key: str = ""
    hashed: bool = False
    condition: str = ""

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
    def takes_switch(self) -> bool:
        """Whether staff need the permission to switch limits, too: one tenant, or those who are logged in, may be the whole
        site."""
        return self.meets_everybody or self.key == SCOPE or self.condition == conditions.EVERY_USER

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
    if conditions.is_condition(text):
        conditions.function_of(text)
        return Subject(text, condition=text)
    kind, _, value = text.partition(":")
    typed = _parts(text)
    if kind == "ip" and not is_hashed(text) and "+" not in text:
        network = network_of(value)
        alone = network.version == 4 and network.length == 32 == _client_length(4)
        return Subject(f"ip:{network.first if alone else network}", network)
    if kind == "group" and value.strip():
        name = " ".join(value.splitlines()).strip()
        return Subject(f"group:{name}", group=name)
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
    if subject.counts_as_one:
        kept = privacy.stored(parse_identity(subject.text))
        return kept if is_hashed(kept) else subject.text
    if not subject.key:
        return subject.text
    parts = [privacy.stored(part) for part in split(subject.text)]
    return joined(parts) if len(parts) > 1 else parts[0]


def stored_forms(subject: Subject) -> set[str]:
    """Every text that `stored` may have returned, whatever ``ANONYMIZE`` was at that time."""
    if subject.key:
        return {*texts_of(subject.text, lambda part: (part,) if is_hashed(part) else forms(part))}
    return {subject.text, *(forms(parse_identity(subject.text)) if subject.counts_as_one else ())}


def texts_of(identity: str, forms_of: Callable[[str], Iterable[str]] = forms) -> Iterator[str]:
    """The texts that a row for this identity of a request may have: each part as it is, or as a hash."""
    parts = split(identity)
    for each in product(*map(forms_of, parts)):
        yield joined(each) if len(parts) > 1 else each[0]


def masked(text: str, veiled: bool = False) -> str:
    """For staff who may not see identities: enough to tell two of them apart, not enough to identify a client.

    If `veiled`, without the hash, by which a reader could tell whether a row is about a client that they guess.
    """
    try:
        subject = parse_subject(text)
    except ValueError:
        return "somebody"
    network = subject.network
    if network is None:
        each = privacy.kind_and_hint if veiled else privacy.anonymous
        return " + ".join(map(each, split(subject.text))) if subject.key else subject.text
    if network.version == 4:
        return f"ip:{network.first.rpartition('.')[0]}.x" if network.length > _SHOWN[4] else subject.text
    return f"ip:{network.shortened(_SHOWN[6])}"


_SHOWN = {4: 24, 6: 48}  # the prefix of an address that is shown to everybody who may see the list of blocks


def is_target(identity: str) -> bool:
    """Whether it says whom a request is about, and not who has sent it: a login name, a field of a form."""
    return all(part.partition(":")[0] in _OF_TARGETS for part in split(identity))


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
    return f"user:{users.canonical(value)}" if kind == "user" else identity


def _parts(text: str) -> tuple[str, ...]:
    """The typed values of a joined identity, or of one that a person wrote with +."""
    if len(parts := split(text)) > 1:
        return parts
    first, *pieces = text.split("+")
    typed = [first]
    for piece in pieces:
        if _is_part(piece.strip()):
            typed.append(piece.strip())
        else:
            typed[-1] += f"+{piece}"  # a + in a value
    if len(typed) > 1 and any(part.startswith("group:") for part in typed):
        raise Problem("{text!r} joins a group, which stands alone: write one override for each part", text=text[:64])
    return tuple(typed)


def _is_part(text: str) -> bool:
    """Whether the text after a + is another part, not the rest of a value."""
    try:
        _identity(text)
    except ValueError:
        return text.startswith("group:")
    return True


def _key_of(part: str) -> str:
    """The key of a typed value: ``header:x-api-key`` for ``header:X-Api-Key:one``. Raises ValueError."""
    kind, name, value = kind_and_name(part)
    if not value.strip() or kind in _OF_OTHER_KINDS:
        raise Problem(
            "{part!r} names no client: write for example {examples}; * means everybody", part=part[:64], examples=_SUBJECTS
        )
    key = f"{kind}:{name}" if name else kind
    recipe(key)
    return key


def as_subject(text: str, find_users: bool = True) -> str:
    """The text of a subject: ``ip:203.0.113.9`` for ``203.0.113.9``, ``user:42`` for ``ann``.

    What is a subject already stays as it is. Raises ValueError. Without `find_users` it is for people who may not see users.
    """
    text = text.strip()
    try:
        subject_of(text)
    except ValueError as error:
        problem = error
    else:
        return text
    with_kinds = "+".join(map(_with_kind, text.split("+")))
    if with_kinds != text:
        parse_subject(with_kinds)
        return with_kinds
    if find_users and (user := users.named(text)):
        return user
    if ":" in text:
        raise problem
    if not find_users:
        raise Problem(
            "{text!r} is neither an address nor an identity such as user:42. To find a user by login name you "
            "need the permission to view users",
            text=text[:64],
        )
    raise Problem(
        "{text!r} is no address, and no user has this login name: write for example {examples}",
        text=text[:64],
        examples=EXAMPLES,
    )


def subject_of(identity: str) -> Subject:
    """`parse_subject`, and of ``global`` the one client of rules that count all together. Raises ValueError."""
    return Subject(EVERYBODY_TOGETHER) if identity.strip() == EVERYBODY_TOGETHER else parse_subject(identity)


def _with_kind(part: str) -> str:
    """A part with ``ip:`` before it if it is an address or a network."""
    address = part.strip()
    return f"ip:{address}" if parse_address(address.partition("/")[0]) is not None else part
