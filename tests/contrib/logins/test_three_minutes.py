"""The three minutes of docs/contrib/logins.md, followed literally: six wrong passwords, of which the sixth is refused."""

import re
from pathlib import Path

import pytest

from tests.support.readme_site import CHECKOUT, FIVE_MINUTES, Site

PAGE = CHECKOUT / "docs" / "contrib" / "logins.md"

TRIES = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from ratewindow.models import RateRule
for rule in RateRule.objects.filter(name__startswith="login"):
    rule.mode = "enforce"
    rule.save()
User.objects.create_superuser("ann", password="right")
wrong = {"username": "somebody", "password": "wrong"}
print(*[Client().post("/admin/login/", wrong, headers={"host": "localhost"}).status_code for _ in range(6)])
right = {"username": "ann", "password": "right"}
print(Client().post("/admin/login/?next=/admin/", right, headers={"host": "localhost"}).status_code)
"""


@pytest.mark.slow
def test_the_sixth_wrong_password_is_refused(tmp_path: Path, redis_url: str) -> None:
    settings, _ = re.findall(r"```python\n(.*?)```", FIVE_MINUTES, re.DOTALL)
    logins = re.search(r"## Three minutes\n.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    site = Site(tmp_path)
    site.add("settings.py", settings.replace("redis://localhost:6379/0", redis_url) + logins)
    site.run("manage.py", "migrate")
    assert re.search(
        r"^login.name +5/m; 10/h; 50/d +stranger +login$", site.run("manage.py", "ratewindow", "protect"), re.MULTILINE
    ), site.errors
    assert site.run("-c", TRIES).split() == ["200"] * 5 + ["429", "302"], site.errors
