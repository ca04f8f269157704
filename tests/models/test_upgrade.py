"""A site made with an earlier version, with rows in every table, upgrades by ``migrate`` alone.

``earlier_site.sql`` is its database as SQLite dumps it, made before the modules moved that its migrations name.
"""

import json
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

EARLIER = Path(__file__).with_name("earlier_site.sql")


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the site knows after ``migrate``."""
    database = tmp_path_factory.mktemp("site") / "db.sqlite3"
    connection = sqlite3.connect(database)
    connection.executescript(EARLIER.read_text())
    connection.close()
    program = f"""
        import json
        import django
        from django.conf import settings
        settings.configure(
            SECRET_KEY="of an earlier site", USE_TZ=True, RATEWINDOW={{"REDIS": "memory://"}},
            INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ratewindow"],
            DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {str(database)!r}}}}},
        )
        django.setup()
        from django.apps import apps
        from django.core import serializers
        from django.core.management import call_command
        call_command("migrate", verbosity=0, skip_checks=True)
        from ratewindow.rulebook import current, kill_switch, reading
        reading.reload()
        def rows(model):
            return json.loads(serializers.serialize("json", model.objects.order_by("pk")))
        print(json.dumps({{
            "rows": {{each.__name__: rows(each) for each in apps.get_app_config("ratewindow").get_models()}},
            "error": reading.status().error,
            "rules": {{name: repr(rule) for name, rule in current.of_site().by_name.items()}},
            "overrides": current.of_site().overrides.count,
            "switch": kill_switch.turned.words(),
        }}))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=EARLIER.parents[2])
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)  # type: ignore[no-any-return]


def values(upgraded: dict[str, Any], model: str, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row["fields"][name] for name in fields) for row in upgraded["rows"][model]]


def test_no_row_is_lost(upgraded: dict[str, Any]) -> None:
    counts = {model: len(rows) for model, rows in upgraded["rows"].items()}
    earlier = {"RateRule": 2, "RuleWindow": 3, "Override": 2, "ThrottleStat": 1, "LimitSwitch": 1}
    assert {model: counts[model] for model in earlier} == earlier
    assert values(upgraded, "RateRule", "name", "mode", "pattern", "cost", "count_when", "hold", "response_status") == [
        ("login", "enforce", "/login/", 2, "login_failed", True, 403),
        ("api", "shadow", "", 1, "always", False, 429),
    ]
    assert values(upgraded, "RuleWindow", "limit", "algorithm", "burst", "aligned_to") == [
        (5, "sliding_window", None, ""),
        (100, "fixed_window", None, "day"),
        (10, "token_bucket", 20, ""),
    ]
    assert values(upgraded, "Override", "action", "identity", "rate", "reason") == [
        ("rate", "user:42", "9/m", "Partner"),
        ("block", "ip:203.0.113.0/24", "", "Abuse"),
    ]
    counted = ("resolution", "start", "passed", "refused", "would_refuse", "reasons", "latency")
    assert values(upgraded, "ThrottleStat", *counted[2:6]) == [(90, 10, 2, {"limit": 10})]
    assert values(upgraded, "TotalStat", *counted) == values(upgraded, "ThrottleStat", *counted)


def test_every_row_can_be_enforced(upgraded: dict[str, Any]) -> None:
    assert upgraded["error"] == ""
    assert set(upgraded["rules"]) == {"login", "api"} and upgraded["overrides"] == 2
    assert "penalty_ms=600000" in upgraded["rules"]["login"]
    assert upgraded["switch"].startswith("off until ") and upgraded["switch"].endswith(", by ann: campaign")
