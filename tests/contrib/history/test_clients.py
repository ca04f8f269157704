"""Edits of clients are kept as long as statistics, found and erased with one client's data."""

from datetime import timedelta

import pytest
from django.db import transaction

from ratewindow.conf import time_zone
from ratewindow.contrib.history import recording
from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule
from ratewindow.operations.clients import release
from tests.support.commands import run

pytestmark = pytest.mark.django_db(transaction=True)


def test_edits_of_blocks_and_releases_are_kept_as_long_as_the_statistics_of_days() -> None:
    RateRule.objects.define("login", "5/m")
    Override.objects.block("ip:192.0.2.1")
    release("ip:192.0.2.2")
    Edit.objects.update(at=time_zone.now() - timedelta(days=731))
    Override.objects.block("ip:192.0.2.3")
    assert "2 old edits of blocks, exemptions and releases would be deleted" in run("clean", "--dry-run")
    assert "2 old edits of blocks, exemptions and releases deleted" in run("clean")
    assert sorted(Edit.objects.values_list("kind", flat=True)) == ["override", "rule"]


class Ada:
    """The client of these tests."""

    texts = ("user:42",)

    def is_in(self, identity: str) -> bool:
        return "user:42" in identity

    def stand_in(self, identity: str) -> str:
        raise NotImplementedError


def test_the_edits_of_a_client_are_found_and_erased_with_those_of_the_erasure() -> None:
    for identity in ("user:42", "user:7"):
        Override.objects.block(identity)
    release("user:42")
    [found] = recording.find(Ada())
    assert (found.where, found.number) == ("history", 3)
    with transaction.atomic():
        recording.erase(Ada())
        Override.objects.filter(identity="user:42").delete()
    assert "user:42" not in str([*Edit.objects.values()])
    assert [edit.after["identity"] for edit in Edit.objects.all()] == ["user:7"]
