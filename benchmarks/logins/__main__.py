"""``python -m benchmarks.logins``: all parts, written into the documentation, or some, printed. Exit 1 if a bar is missed."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import redis

from benchmarks.logins import alike, costs, guards, served
from benchmarks.machine import described
from benchmarks.tables import Section, summary
from testproject.redis_server import redis_server

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "evidence" / "logins.md"
PARTS: dict[str, Callable[[], Section]] = {
    "guards": guards.section,
    "crowd": served.crowd,
    "siege": served.siege,
    "failures": served.failures,
    "costs": costs.section,
    "alike": alike.section,
}
PACKAGES = (
    "Django",
    "redis",
    "hiredis",
    "gunicorn",
    "uvicorn",
    "django-axes",
    "django-device-cookies",
    "dj-rest-auth",
    "django-allauth",
    "django-graphql-jwt",
    "django-ninja-jwt",
    "django-oauth-toolkit",
    "django-rest-knox",
    "django-two-factor-auth",
    "djangorestframework",
    "djangorestframework-simplejwt",
    "djoser",
    "wagtail",
)
INTRODUCTION = """\
# Who guesses passwords

Written by `make logins`, in a quarter of an hour. A site has seventeen ways in, of Django and eleven packages, and accounts
whose passwords are guessed. A guess counts when the hasher has compared it with the password, whichever view or backend asked
for that: a password that is not compared teaches nobody anything. A bar, in the column *at most*, is what was promised, and
`make logins` fails where one is missed. All servers are on loopback, and addresses are told by `X-Forwarded-For`.

It costs a backend in `AUTHENTICATION_BACKENDS`, and a signed cookie on each device where somebody has logged in. A right login
costs the calls of Redis and the query that are counted below. An owner without a known device waits while strangers have used
up the limit of the name, or resets the password by mail. No limit here stops guesses at many names from many networks, few at
each.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.logins", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these, of {', '.join(PARTS)}; without any, all of them")
    parser.add_argument(
        "--guesses", type=int, default=served.GUESSES, help="of the crowd; with another number nothing is written"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    with redis_server() as url, redis.Redis.from_url(url) as client:
        machine = described(client.info("server"), PACKAGES)
    print(f"{machine}\n", flush=True)
    parts: dict[str, Callable[[], Section]] = {**PARTS, "crowd": partial(served.crowd, options.guesses)}
    sections = []
    for name in options.parts or parts:
        sections.append(parts[name]())
        print(sections[-1].markdown(), flush=True)
    print(summary(sections))
    if not options.parts and options.guesses == served.GUESSES:
        _write([INTRODUCTION, f"{machine}\n", summary(sections), *(section.markdown() for section in sections)])
    return int(not all(row.holds for section in sections for row in section.promised))


def _write(parts: list[str]) -> None:
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(f"written to {PAGE.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    sys.exit(main())
