"""Blocks and exemptions as a site under attack has them: single addresses mostly, networks, users, groups, API keys."""

from functools import cache
from types import SimpleNamespace

from django.http import HttpRequest

from benchmarks.rules import requests as paths
from ratewindow.models import Override
from ratewindow.overrides.lookup import Overrides, Ruling
from ratewindow.overrides.subjects import parse_subject

DAY_S = 86_400
START_S = 2_000_000_000
CLIENTS = 500  # that requests come from; one of ten is known by its address, one of five is logged in


@cache
def overrides(count: int) -> Overrides:
    """So many of them as a process holds them, each with an end of its own."""
    rulings = (Ruling(action(number), expires_s=START_S + number, pk=number) for number in range(count))
    made = ((parse_subject(subject(number)), ruling) for number, ruling in enumerate(rulings))
    return Overrides(made, lambda groups: {f"user:{number}": (group,) for number, group in enumerate(sorted(groups))})


def rows(count: int) -> list[Override]:
    """The same as rows."""
    from datetime import UTC, datetime

    ends = (datetime.fromtimestamp(START_S + number, UTC) for number in range(count))
    return [Override(action=action(number), identity=subject(number), expires_at=end) for number, end in enumerate(ends)]


def action(number: int) -> str:
    return "allow" if number % 5 == 4 else "block"


def subject(number: int) -> str:
    """Of ten: four addresses, two networks of a length between /12 and /28, and one each of IPv6, user, group and key; there
    are 200 groups at most."""
    high, low = number >> 8 & 255, number & 255
    match number % 10:
        case 0:
            return f"ip:10.{high}.{low}.0/{(24, 28, 20, 16, 12)[number // 100 % 5]}"
        case 1:
            return f"ip:172.{16 + number % 16}.{high}.{low}/{(24, 28, 22, 27, 26)[number // 100 % 5]}"
        case 2:
            return f"ip:2001:db8:{number >> 8:x}:{low:x}::/64"
        case 3:
            return f"user:{number}"
        case 4 if number < 2000:
            return f"group:group-{number}"
        case 5:
            return f"header:x-client:client-{number}"
    return f"ip:{198 + (number >> 16)}.{high}.{low}.{number % 251}"


@cache
def requests(count: int) -> list[HttpRequest]:
    """The requests of the bar about rules, from clients of whom a few are blocked."""
    asked = []
    for number in range(CLIENTS):
        for sent in paths(count)[number % len(paths(count)) :: len(paths(count))] or paths(count)[:1]:
            request = HttpRequest()
            request.method, request.path_info = sent.method, sent.path_info
            known = subject(10 * number + 6)[3:]
            request.META = {"REMOTE_ADDR": known if number % 10 == 0 else f"192.0.{number >> 8}.{number & 255}"}
            request.META["HTTP_X_CLIENT"] = f"unknown-{number}"
            request.user = SimpleNamespace(is_authenticated=number % 5 == 0, pk=10_000_000 + number)  # type: ignore[assignment]
            asked.append(request)
    return asked
