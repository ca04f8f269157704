"""A site without django.contrib.admin: its templates, refusals, checks, commands and tasks."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import django; django.setup()
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from ratewindow import rulebook, tasks
from ratewindow.models import RateRule

assert not apps.is_installed("django.contrib.admin")
call_command("check")
call_command("migrate", verbosity=0)
RateRule.objects.define("login", "1/m", path="/login/", mode="enforce")
client = Client()
assert client.get("/page/").status_code == 200
assert client.get("/login/").status_code == 200
refused = client.get("/login/", headers={"accept": "text/html"})
assert refused.status_code == 429 and b"Too many requests" in refused.content, refused.content
for line in (
    "rules", "mode login shadow", "mode login enforce", "block user:42 --for 1h", "allow ip:203.0.113.9 --for 1h",
    "release ip:203.0.113.9", "off --for 5m", "on", "collect", "clean --dry-run",
):
    call_command("ratewindow", *line.split())
tasks.collect_stats()
tasks.clean_orphans()
call_command("ratewindow", "check")
print("all of it")
"""


def test_what_remains_without_the_admin_works(program_environment: dict[str, str], tmp_path: Path) -> None:
    environment = {
        **program_environment,
        "DJANGO_SETTINGS_MODULE": "tests.sites.without_admin",
        "TESTPROJECT_DATABASE": str(tmp_path / "db.sqlite3"),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all of it\n")
