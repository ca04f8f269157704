"""What people type for a client: besides identities such as ``user:42`` an address, a login name or an e-mail address."""

from collections.abc import Mapping

from ratewindow.identity.address import parse_address
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.overrides import users
from ratewindow.overrides.networks import parse_network
from ratewindow.overrides.subjects import EVERYBODY, parse_subject

EXAMPLES = translatable("203.0.113.9, 203.0.113.0/24, ann@example.com, user:42, group:staff or header:x-api-key:VALUE")
EVERYBODY_TOGETHER = "global"  # the one client of rules that count all together
MOST_LISTED = 10


class SeveralUsers(Problem):
    """Several users have this name or e-mail address."""

    @property
    def users(self) -> Mapping[str, str]:
        """Their names by identity, ``user:42``."""
        users: Mapping[str, str] = self.values["users"]
        return users


def as_subject(text: str, find_users: bool = True) -> str:
    """The text of a subject: ``ip:203.0.113.9`` for ``203.0.113.9``, ``user:42`` for ``ann@example.com``.

    What is a subject already stays as it is. Raises ValueError. Without `find_users` it is for people who may not see users.
    """
    text = text.strip()
    if text in (EVERYBODY, EVERYBODY_TOGETHER):
        return text
    try:
        parse_subject(text)
    except ValueError as error:
        problem = error
    else:
        return text
    with_kinds = "+".join(map(_with_kind, text.split("+")))
    if with_kinds != text:
        parse_subject(with_kinds)
        return with_kinds
    found = users.called(text, MOST_LISTED) if find_users else {}
    if len(found) > 1:
        raise SeveralUsers(
            "{text!r} is the login name or e-mail address of several users: write one of {listed}",
            text=text,
            listed=", ".join(f"{identity} ({name})" for identity, name in found.items()),
            users=found,
        )
    for identity in found:
        return identity
    if ":" in text:
        raise problem
    raise _unknown(text, find_users)


def _with_kind(part: str) -> str:
    """A part with ``ip:`` before it if it is an address or a network."""
    address = part.strip()
    return f"ip:{address}" if parse_address(address.partition("/")[0]) is not None else part


def _unknown(text: str, find_users: bool) -> ValueError:
    """What is wrong with a text that is no address and has no kind."""
    if not text:
        return Problem("'' names no client: write for example {examples}", examples=EXAMPLES)
    if text.replace(".", "").replace("/", "").isdecimal() and text.count(".") > 1:
        try:
            parse_network(text)
        except ValueError as error:
            return error
    if users.is_group(text):
        return Problem("{text!r} is the name of a group: write group:{text}", text=text)
    if not find_users:
        return Problem(
            "{text!r} is neither an address nor an identity such as user:42. To find a user by login name or e-mail "
            "address you need the permission to view users",
            text=text[:64],
        )
    if users.model() is not None and users.exists(text):
        return Problem("{text!r} is the number of a user: write user:{text}", text=text)
    return Problem(
        "{text!r} is no address, and no user has this login name or e-mail address: write for example {examples}",
        text=text[:64],
        examples=EXAMPLES,
    )
