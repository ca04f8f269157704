"""A run of the cleaner that ended early is continued where it was."""

import pytest

from ratewindow.models import RateRule
from ratewindow.operations.cleaning import orphans, scanning
from ratewindow.operations.cleaning.orphans import clean_orphans
from ratewindow.operations.cleaning.pace import Budget
from tests.support.count_keys import key

pytestmark = pytest.mark.django_db


def a_budget_of(seconds):
    """A run with a clock of its own, which goes on by one second at each look."""
    ticks = iter(range(10_000))
    return {"budget": Budget(seconds), "clock_s": lambda: next(ticks), "sleep": lambda _: None}


def test_a_run_that_is_out_of_time_is_continued_by_the_next_and_none_begins_again_before_all_were_seen(
    keys, redis_client, monkeypatch
):
    monkeypatch.setattr(scanning, "COUNT", 10)
    RateRule.objects.define("login", "5/m")
    living = {key("login", client=f"ip:{number}") for number in range(500)}
    keys(*living, *(key("gone", client=f"ip:{number}") for number in range(500)))
    runs = [clean_orphans(**a_budget_of(60))]
    assert not runs[0].complete and 0 < runs[0].orphans < 500
    assert "out of time before all were seen: the next run goes on there" in str(runs[0])
    while not runs[-1].complete:
        before = len(keys.left())
        tried = clean_orphans(dry_run=True, **a_budget_of(60))
        assert len(keys.left()) == before
        runs.append(clean_orphans(**a_budget_of(60)))
        assert tried.orphans == runs[-1].orphans  # the next run does what was said, since looking moves nothing
    assert keys.left() == living
    assert sum(each.orphans for each in runs) == 500
    assert 1000 <= sum(each.seen for each in runs) < 1500  # SCAN may show a few keys twice
    assert clean_orphans().seen >= 500  # the one after it begins again


def test_a_run_that_was_killed_is_continued_too(keys, redis_client, monkeypatch):
    monkeypatch.setattr(scanning, "COUNT", 10)
    monkeypatch.setattr(orphans, "NOTED", 100)
    keys(*(key("gone", client=f"ip:{number}") for number in range(1000)))
    scan, calls = orphans.scan, []

    def killed(*arguments):
        for number, page in enumerate(scan(*arguments)):
            if number == 30:
                raise SystemExit
            yield page

    monkeypatch.setattr(orphans, "scan", killed)
    with pytest.raises(SystemExit):
        clean_orphans()
    monkeypatch.setattr(orphans, "scan", lambda master, cursor: calls.append(cursor) or scan(master, cursor))
    assert clean_orphans().complete
    assert calls != [0]
    assert keys.left() == set()


def test_a_server_that_was_started_again_is_looked_at_from_its_first_key(keys, redis_client, monkeypatch):
    monkeypatch.setattr(scanning, "COUNT", 10)
    keys(*(key("gone", client=f"ip:{number}") for number in range(500)))
    assert not clean_orphans(**a_budget_of(60)).complete
    monkeypatch.setattr(orphans, "identity_of", lambda master: "another")
    scan, calls = orphans.scan, []
    monkeypatch.setattr(orphans, "scan", lambda master, cursor: calls.append(cursor) or scan(master, cursor))
    assert clean_orphans().complete
    assert calls == [0]
    assert keys.left() == set()
