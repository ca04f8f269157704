"""Adds to pages of the reference, on the site alone, what the code knows of their subject.

Each module here is about one subject: its `PAGES`, and `add`, which takes the text of one of them and returns it with more.
"""

from typing import Any

import django
from django.conf import settings

from ratewindow import rooms


def add_to_page(app: Any, name: str, source: list[str]) -> None:
    from from_code import checks, commands, metrics, permissions, values

    for subject in (checks, commands, metrics, permissions, values):
        if name in subject.PAGES:
            source[0] = subject.add(source[0])


def setup(app: Any) -> None:
    apps = ("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages")
    settings.configure(INSTALLED_APPS=[*apps, "ratewindow", *rooms.names()], RATEWINDOW={"REDIS": "memory://"})
    django.setup()
    app.connect("source-read", add_to_page)
