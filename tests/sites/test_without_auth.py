"""Sites without django.contrib.auth, with users of their own or with none: checks, tables, commands, tasks and requests."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import io, sys
import django; django.setup()
from django.apps import apps
from django.core.management import call_command
from django.test import Client
import ratewindow
from ratewindow import tasks
from ratewindow.management.commands.ratewindow import subcommands
from ratewindow.models import Override, RateRule

folder, has_users = sys.argv[1], sys.argv[2] == "with_own_users"
assert not apps.is_installed("django.contrib.auth")
call_command("check", fail_level="WARNING")
call_command("migrate", verbosity=0, run_syncdb=True)
call_command("makemigrations", "ratewindow", check=True, verbosity=0)
call_command("check", databases=["default"])
if has_users:
    from django.contrib.auth import get_user_model
    get_user_model().objects.create(pk=42, email="ann@example.com")

RateRule.objects.define("login", "1/m", path="/login/", key="user_or_ip", mode="enforce")
client = Client()
assert [client.get("/login/").status_code for _ in range(2)] == [200, 429]
assert [bool(ratewindow.hit("login", "user:7")) for _ in range(2)] == [True, False]

log = f"{folder}/access.log"
with open(log, "w") as file:
    file.write('a.example - ann@example.com [01/Jul/1995:00:00:01 -0400] "GET /login/ HTTP/1.0" 200 1\\n')
ME = "ip:203.0.113.9"
LINES = {
    "show": [ME], "explain": ["GET", "/login/", "--ip", "203.0.113.9"], "subject": [ME],
    "check": [], "rules": [], "suggest": ["--create"], "mode": ["login", "shadow"], "block": ["user:42", "--for", "1h"],
    "allow": [ME, "--for", "1h"], "release": [ME], "off": ["--for", "5m"], "on": [], "collect": [], "clean": [],
    "backtest": [log, "--rule", "login"], "export": [f"{folder}/limits.json"],
    "import": [f"{folder}/limits.json"], "apply": [f"{folder}/limits.json"], "history": [],
    "restore": ["--yes"], "move": ["drf"], "alerts": ["--dry-run"], "report": [],
}
NAMES = {module.NAME for module in subcommands()}
LINES = {name: arguments for name, arguments in LINES.items() if name in NAMES}
assert NAMES == set(LINES)
for name, arguments in LINES.items():
    call_command("ratewindow", name, *arguments, stdout=io.StringIO())

call_command("ratewindow", "block", "group:staff", "--for", "1h", stdout=io.StringIO())
if "explain" in LINES:
    call_command("ratewindow", "explain", "GET", "/login/", "--user", "user:42" if has_users else "", stdout=io.StringIO())
call_command("ratewindow", "backtest", log, "--rates", "5/m", "--key", "user_or_ip", stdout=io.StringIO())
Override.objects.all().delete()
for who in ("staff", "ann@example.com"):
    try:
        call_command("ratewindow", "block", who, "--for", "1h", stdout=io.StringIO())
    except Exception as error:
        assert type(error).__name__ == "CommandError", repr(error)
assert Override.objects.filter(identity="user:42").exists() is has_users
tasks.collect_stats()
tasks.clean_orphans()
print("all of it")
"""


@pytest.mark.parametrize("settings", ["with_own_users", "without_users"])
def test_a_site_without_djangos_users_and_groups_has_all_the_rest(
    settings: str, program_environment: dict[str, str], tmp_path: Path
) -> None:
    environment = {
        **program_environment,
        "DJANGO_SETTINGS_MODULE": f"tests.sites.{settings}",
        "TESTPROJECT_DATABASE": str(tmp_path / "db.sqlite3"),
    }
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), settings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all of it\n")
