"""The README, followed literally: a new site, its lines, and six requests of which the sixth is refused."""

import re
from pathlib import Path

import pytest

from tests.support.readme_site import CHECKOUT, FIVE_MINUTES, README, Site

RULE = """
from ratewindow.models import RateRule
RateRule.objects.define("hello", "8/m", mode="enforce")
"""
LOGIN = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from ratewindow.start import presets
for ready in presets.groups()[0].found:
    rule = presets.save(ready)
    rule.mode = "enforce"
    rule.save()
User.objects.create_superuser("ann", password="right")
wrong = {"username": "ann", "password": "wrong"}
print(*[Client().post("/admin/login/", wrong, headers={"host": "localhost"}).status_code for _ in range(6)])
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def finished(site: Site, redis_url: str) -> Site:
    """After all steps but those in the admin."""
    settings, urls = re.findall(r"```python\n(.*?)```", FIVE_MINUTES, re.DOTALL)
    assert "redis://localhost:6379/0" in settings
    site.add("settings.py", settings.replace("redis://localhost:6379/0", redis_url))
    site.add("urls.py", urls)
    site.run("manage.py", "migrate")
    return site


def test_it_is_read_in_a_few_minutes() -> None:
    """Also its tables and code, but for the lines that are drawn between cells."""
    shown = re.sub(r"<!--.*?-->", "", README)
    assert len([word for word in shown.split() if word.strip("|-:")]) <= 900


def cells(table: str) -> list[list[str]]:
    """What stands below the heads of a table, without the names of rows and what is not applicable."""
    rows = [line.strip().strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("n/a", "") for cell in row[1:]] for row in rows[2:]]


def test_its_table_is_the_one_that_was_measured() -> None:
    measured = (CHECKOUT / "conformance" / "table.md").read_text()
    assert cells(README.partition("## Beside others")[2].partition("\n## ")[0]) == cells(measured)


def test_its_shortest_example_is_the_one_that_runs() -> None:
    code = (CHECKOUT / "examples" / "one_file.py").read_text().partition("\n\n")[2]
    assert f"```python\n{code}```" in README


def test_the_five_minutes_end_with_a_429(finished: Site) -> None:
    said = re.search(r"should say `(.+?)`", FIVE_MINUTES)
    printed = re.search(r"answered `([\d ]+)`", FIVE_MINUTES)
    assert said and printed
    assert said[1] in finished.run("manage.py", "ratewindow", "check").splitlines(), finished.errors
    assert finished.answers(6) == printed[1], finished.errors


def test_the_ready_rules_for_logins_refuse_the_sixth_wrong_password(site: Site, redis_url: str) -> None:
    """By the settings and the tables alone."""
    [settings, *_] = re.findall(r"```python\n(.*?)```", FIVE_MINUTES, re.DOTALL)
    site.add("settings.py", settings.replace("redis://localhost:6379/0", redis_url))
    site.run("manage.py", "migrate")
    assert site.run("-c", LOGIN).split() == ["200"] * 5 + ["429"], site.errors


def test_a_rule_of_the_admin_takes_over(finished: Site) -> None:
    assert finished.answers(9, before=RULE) == " ".join(["200"] * 8 + ["429"]), finished.errors


def test_without_redis_in_the_settings_the_check_names_the_line(site: Site) -> None:
    site.add("settings.py", 'INSTALLED_APPS = [*INSTALLED_APPS, "ratewindow"]')
    site.run("manage.py", "check")
    assert "ratewindow.E002" in site.errors
    assert '"REDIS"' in site.errors
