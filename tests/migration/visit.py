"""A program that sends requests to the site in whose folder it is started, and prints what came back.

Each line of its input is a request: ``POST /login/ as ann from 203.0.113.9 with email=a@b.c sending x-api-key: one``.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

LINE = re.compile(
    r"(?P<method>[A-Z]+) (?P<path>\S+)(?: as (?P<user>\S+))?(?: from (?P<address>\S+))?"
    r"(?: with (?P<data>\S+))?(?: sending (?P<header>\S+): (?P<value>\S+))?"
)


def main() -> None:
    sys.path[:0] = [str(Path.cwd())]
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    import django

    django.setup()
    from django.core.checks import run_checks
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    setup_test_environment()
    call_command("migrate", verbosity=0)
    told = [send(line.strip()) for line in sys.stdin if line.strip()]
    print(json.dumps({"answers": told, "checks": [message.id for message in run_checks()]}))


def send(line: str) -> dict[str, Any]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    found = LINE.fullmatch(line)
    assert found is not None, line
    client, headers = Client(), {}
    if found["user"]:
        user, _ = User.objects.get_or_create(username=found["user"], is_staff=found["user"] == "staff")
        if "rest_framework.authtoken" in settings.INSTALLED_APPS:
            from rest_framework.authtoken.models import Token

            headers["Authorization"] = f"Token {Token.objects.get_or_create(user=user)[0].key}"
        else:
            client.force_login(user)
    if found["header"]:
        headers[found["header"]] = found["value"]
    data = dict([found["data"].split("=")]) if found["data"] else {}
    send = {"GET": client.get, "POST": client.post, "PUT": client.put}[found["method"]]
    response = send(found["path"], data, headers=headers, REMOTE_ADDR=found["address"] or "198.51.100.1")
    return {"status": response.status_code, "text": response.content.decode(), "retry_after": response.get("Retry-After")}


if __name__ == "__main__":
    main()
