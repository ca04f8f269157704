"""What the checks of the core tell, by id."""

from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.test import override_settings

from ratewindow.checks import check_rows
from ratewindow.conf.in_words import page

PAGE = page("developers/checks.md")


def found(databases: Any = None, deploy: bool = False, **setting: Any) -> dict[str, str]:
    """Messages with their hints, by id, each without the place that explains it: all name one."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, **setting}):
        messages = [
            *run_checks(tags=["ratewindow"], include_deployment_checks=deploy),
            *check_rows(databases=databases),
        ]
    messages = [each for each in messages if "/contrib/" not in str(each.hint)]  # of a room
    for each in messages:
        assert each.id is not None and each.hint is not None
        assert each.hint.endswith(f"See {PAGE}#{each.id.rpartition('.')[2].lower()}."), each
    return {each.id: f"{each.msg} {each.hint.partition(f'See {PAGE}')[0]}".strip() for each in messages}
