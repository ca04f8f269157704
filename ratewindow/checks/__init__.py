"""System checks: problems in settings, code and rules, reported before a request meets them.

Those of `rows` read the database and Redis, and are tagged ``database``; those of `site` read neither. Both are imported when
they run, since a server runs none.
"""

from collections.abc import Sequence
from typing import Any

from django.core import checks

TAG = "ratewindow"


@checks.register(TAG)
def check_site(**_: Any) -> list[checks.CheckMessage]:
    from ratewindow.checks import site

    return [*site.check_code(), *site.check_settings(), *site.check_proxies(), *site.check_middleware(), *site.check_backends()]


@checks.register(checks.Tags.database)  # not TAG too: Django 6.1 would then read rows for `check --tag ratewindow`
def check_rows(databases: Sequence[str] | None = None, **_: Any) -> list[checks.CheckMessage]:
    from ratewindow.checks import rows

    return [*rows.check_rules(), *rows.check_server()] if databases else []
