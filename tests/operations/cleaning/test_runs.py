"""What the cleaner has done is recorded: for the pages, and for the run that goes on where the last one ended."""

import pytest
from django.test import override_settings

from ratewindow.models import CleaningRun, RateRule
from ratewindow.operations.cleaning import runs
from ratewindow.operations.cleaning.orphans import clean_orphans
from ratewindow.operations.shared_prefix import SharedPrefix, announce_site
from ratewindow.rulebook import reading
from ratewindow.store import state_keys

pytestmark = pytest.mark.django_db


def orphan(redis_client, number):
    redis_client.set(f"{state_keys.state_prefix()}{'gone' * 4}:{{{number}}}", "1", ex=60)


def test_a_run_is_recorded_with_what_it_saw_deleted_and_freed(redis_client):
    for number in range(3):
        orphan(redis_client, number)
    size = redis_client.memory_usage(redis_client.keys("rw:s:*")[0])
    clean_orphans()
    run = CleaningRun.objects.get()
    assert (run.seen, run.orphans, run.harmed, run.freed_bytes, run.measured) == (3, 3, 0, 3 * size, 3)
    assert (run.ended, run.error, run.dry_run) == (CleaningRun.Ended.COMPLETE, "", False)
    assert set(run.position.values()) == {"0"}


def test_a_dry_run_is_recorded_as_one_and_says_nothing_about_where_to_go_on(redis_client):
    orphan(redis_client, 1)
    clean_orphans(dry_run=True)
    assert CleaningRun.objects.get().dry_run
    assert runs.last() is None and runs.next_position() == {}
    assert clean_orphans().orphans == 1


def test_a_run_that_fails_says_why_and_keeps_the_position_of_the_one_before(settings):
    CleaningRun.objects.create(began_at="2026-11-22T10:00Z", ended="time", position={"server": "17"})
    with override_settings(SECRET_KEY="of another site"):
        announce_site()
    with pytest.raises(SharedPrefix):
        clean_orphans()
    run = runs.last()
    assert run.ended == CleaningRun.Ended.ERROR
    assert run.error.startswith("Another site uses the key prefix 'rw'")
    assert runs.next_position() == {"server": "17"}


def test_an_error_without_words_is_named(monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_rules", stopped)
    with pytest.raises(KeyboardInterrupt):
        clean_orphans()
    assert runs.last().error == "KeyboardInterrupt"


def test_only_the_newest_runs_are_kept(monkeypatch):
    monkeypatch.setattr(runs, "KEPT", 3)
    RateRule.objects.define("login", "5/m")
    for _ in range(5):
        clean_orphans()
    newest = list(CleaningRun.objects.values_list("pk", flat=True))
    assert len(newest) == 3
    clean_orphans()
    assert list(CleaningRun.objects.values_list("pk", flat=True))[1:] == newest[:2]
