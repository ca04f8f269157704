"""Ten attacks on the site behind one guard, played in this process: ``python -m benchmarks.logins.attacks`` tells the numbers.

Each is played in a fresh copy of the process, and returns how many guesses reached the hasher, or how often the victim was
refused with the right password.
"""

import json
import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle, islice
from typing import Any

import django
from django.http import HttpResponseBase
from django.test import Client

from benchmarks.logins import tally
from benchmarks.logins.children import forked
from benchmarks.logins.site.names import NEW_PASSWORD, OTHERS, PASSWORD, VICTIM
from benchmarks.logins.ways import BASIC, GRAPHQL, LOGIN_VIEW, NINJA, WAYS, Message, form, stranger

ATTACKER, HOME = "203.0.113.9", "192.0.2.1"  # addresses of the one who guesses, and of the victim


def browser() -> Client:
    return Client(raise_request_exception=False)


def send(client: Client, message: Message, address: str) -> HttpResponseBase:
    return client.generic(
        message.method, message.path, message.body, message.content_type, headers=message.headers, REMOTE_ADDR=address
    )


def guess(name: str, address: str, way: str = LOGIN_VIEW) -> HttpResponseBase:
    """A wrong password, from a browser that nobody knows."""
    return send(browser(), WAYS[way](name, tally.wrong_password()), address)


def log_in(client: Client, address: str, name: str = VICTIM) -> HttpResponseBase:
    return send(client, WAYS[LOGIN_VIEW](name, PASSWORD), address)


def known_device(name: str = VICTIM, address: str = HOME) -> Client:
    """A browser on which somebody has logged in, and whose session has ended."""
    client = browser()
    assert log_in(client, address, name).status_code == 302
    del client.cookies["sessionid"]
    return client


def many_names() -> int:
    return _reached(guess(name, ATTACKER) for name in OTHERS[:300])


def many_addresses() -> int:
    return _reached(guess(VICTIM, stranger(number)) for number in range(300))


def ways_in_turn(ways: Iterable[str], guesses: int) -> int:
    return _reached(guess(VICTIM, ATTACKER, way) for way in islice(cycle(ways), guesses))


def stolen_session() -> int:
    client = browser()
    log_in(client, HOME)

    def change() -> HttpResponseBase:
        new = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        return send(client, form("/change/", old_password=tally.wrong_password(), **new), ATTACKER)

    return _reached(change() for _ in range(60))


def refused_at_home() -> int:
    """On the own device, while strangers try the name."""
    device = known_device()
    many_addresses()
    return int(log_in(device, HOME).status_code != 302)


def refused_beside_the_attacker() -> int:
    """On the own device, at the address from which others are tried, as in one office."""
    device = known_device()
    many_names()
    return int(log_in(device, ATTACKER).status_code != 302)


def _reached(answers: Iterable[Any]) -> int:
    """How many guesses reached the hasher while these were answered."""
    before = tally.reached()
    for _ in answers:
        pass
    return len(tally.reached() - before)


ATTACKS: dict[str, tuple[Callable[[], int], int]] = {
    "300 names, one address": (many_names, 20),
    "one name, 300 addresses": (many_addresses, 10),
    "one name, one address, one way in (60)": (partial(ways_in_turn, [LOGIN_VIEW], 60), 5),
    "one name, one address, 17 ways in, in turn (340)": (partial(ways_in_turn, WAYS, 340), 5),
    "ninja-jwt (40)": (partial(ways_in_turn, [NINJA], 40), 5),
    "REST framework, Basic on any view (40)": (partial(ways_in_turn, [BASIC], 40), 5),
    "GraphQL (40)": (partial(ways_in_turn, [GRAPHQL], 40), 5),
    "old password at the change of a password, stolen session (60)": (stolen_session, 10),
}
"""How many guesses are made, and the most that may reach the hasher."""

RIGHT_LOGINS: dict[str, Callable[[], int]] = {
    "the victim, right password, own device, after 300 strangers": refused_at_home,
    "the victim, right password, known device, behind the attacker's address": refused_beside_the_attacker,
}
"""Which must pass."""


def main() -> None:
    django.setup()
    logging.disable(logging.CRITICAL)  # every refusal is logged
    from benchmarks.logins.site.accounts import make_site

    make_site([VICTIM, *OTHERS])
    plays = {name: play for name, (play, _) in ATTACKS.items()} | RIGHT_LOGINS
    print(json.dumps({name: forked(play) for name, play in plays.items()}))


if __name__ == "__main__":
    main()
