"""Programs of a site, each in a process of its own; and what is tried on every kind of database."""

import contextlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def run(program: str, environment: Mapping[str, str], folder: Path = CHECKOUT) -> str:
    """Run Python code after Django's set-up; returns what it printed."""
    told = subprocess.run(_command(program), cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


@contextlib.contextmanager
def started(program: str, environment: Mapping[str, str]) -> Iterator[Any]:
    """A program that ends by itself once its input ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        _command(program), cwd=CHECKOUT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as made:
        yield made


def _command(program: str) -> list[str]:
    return [sys.executable, "-c", f"import django; django.setup()\n{textwrap.dedent(program)}"]


# Prints the status of each page of ours in the admin.
PAGES = """
    from django.contrib.admin import site
    from django.contrib.auth import get_user_model
    from django.test import Client, RequestFactory
    from django.urls import reverse
    request = RequestFactory().get("/")
    request.user = get_user_model().objects.get(username="admin")
    client = Client(SERVER_NAME="localhost")
    client.force_login(request.user)
    pages = [reverse(f"admin:{name}") for name in "index ratewindow_report ratewindow_state ratewindow_switch".split()]
    pages.append(reverse("admin:ratewindow_override_release"))
    for model, admin in site._registry.items():
        if model._meta.app_label.startswith("ratewindow"):
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            pages.append(reverse(f"{name}_changelist"))
            pages += [reverse(f"{name}_add")] if admin.has_add_permission(request) else []
            row = model._default_manager.first()
            pages += [reverse(f"{name}_change", args=[row.pk])] if row and admin.has_change_permission(request, row) else []
    for page in pages:
        print(client.get(page, follow=True).status_code, page)
"""
# Runs all commands and tasks where there is a rule `login`, and prints what they leave.
COMMANDS = """
    from django.core.management import call_command
    from ratewindow import tasks
    from ratewindow.limiter.types import RuleDecision
    from ratewindow.models import ThrottleStat
    from ratewindow.counting.counters import counters
    from ratewindow.rulebook import current, reading
    reading.reload()
    print("blocks", current.rulebook().overrides.count)
    counters.record([RuleDecision(rule="pooled")] * 3)
    counters.flush()
    for words in (
        "rules; mode login enforce; off --for 1m; on; collect; clean --dry-run; clean; block ip:203.0.113.77 --for 1h;"
        "allow user:1 --for 1h; release ip:203.0.113.77; export --format json"
    ).split(";"):
        call_command("ratewindow", *words.split())
    tasks.collect_stats()
    tasks.clean_orphans()
    call_command("ratewindow", "check")
    print("rows", ThrottleStat.objects.filter(rule="pooled", passed=3).count())
"""


def statuses(pages: str) -> dict[str, str]:
    """What `PAGES` printed."""
    return {line.split()[1]: line.split()[0] for line in pages.splitlines() if line[:3].isdigit()}
