"""One process of the sites: reads a list of acts in each line, as JSON, and answers it with what came of each.

``["ask", site, customer]`` is a request and its status; ``["plan", site, customer, plan]`` a row that is changed;
``["later", seconds]`` the clock by which the site's answers are remembered.
"""

import json
import sys
import time
from typing import Any

import django

SENT = {"archive": "x-user", "messaging": "x-org", "projects": "x-api-key", "chat": "x-user"}


def main() -> None:
    django.setup()
    from django.core.management import call_command
    from django.db import transaction
    from django.test import Client

    from ratewindow.identity import site_answers
    from ratewindow.models import RateRule
    from tests.sites.by_plan.models import Membership, Org, Person, Token

    if sys.argv[1:] == ["first"]:
        call_command("migrate", verbosity=0, run_syncdb=True)
        define = RateRule.objects.define
        define("archive", "2/h", key="user", mode="enforce", limits_from="membership tier")
        define("messaging", "2/h", prefix="/messaging/", key="org", mode="enforce", limits_from="org api_rates")
        define(
            "projects", "2/h", prefix="/projects/", key="header:x-api-key", mode="enforce", limits_from="token allowed_rate_limit"
        )
        define("chat", "2/h", key="user", mode="enforce", limits_from="user rate_limits")
    client, later_s = Client(), 0.0
    site_answers.time = type("Clock", (), {"monotonic": staticmethod(lambda: time.monotonic() + later_s)})  # type: ignore[assignment]

    def plan(site: str, customer: str, to: Any) -> None:
        rows: dict[str, Any] = {
            "archive": (Membership, {"user": customer}, "tier"),
            "messaging": (Org, {"slug": customer}, "api_rates"),
            "projects": (Token, {"token": customer}, "allowed_rate_limit"),
            "chat": (Person, {"number": customer}, "rate_limits"),
        }
        model, known, column = rows[site]
        model.objects.update_or_create(**known, defaults={column: to})

    print("ready", flush=True)
    for line in sys.stdin:
        said: list[Any] = []
        with transaction.atomic():  # one write to the disk
            for act, *what in json.loads(line):
                if act == "ask":
                    site, customer = what
                    said.append(client.get(f"/{site}/", headers={SENT[site]: customer}).status_code)
                elif act == "plan":
                    plan(*what)
                else:
                    later_s += what[0]
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
