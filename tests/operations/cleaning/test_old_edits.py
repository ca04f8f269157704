"""Old edits with identities are deleted; edits of rules stay."""

from datetime import timedelta

import pytest

from ratewindow.conf import time_zone
from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations import release
from ratewindow.operations.cleaning.old_edits import clean_edits
from tests.support.commands import run

pytestmark = pytest.mark.django_db(transaction=True)


def test_edits_of_blocks_and_releases_are_kept_as_long_as_the_statistics_of_days() -> None:
    RateRule.objects.define("login", "5/m")
    Override.objects.block("ip:192.0.2.1")
    release.release("ip:192.0.2.2")
    Edit.objects.update(at=time_zone.now() - timedelta(days=731))
    Override.objects.block("ip:192.0.2.3")
    assert str(clean_edits(dry_run=True)) == "2 old edits of blocks, exemptions and releases would be deleted"
    assert "2 old edits of blocks, exemptions and releases deleted" in run("clean")
    assert sorted(Edit.objects.values_list("kind", flat=True)) == ["override", "rule"]
