"""Edits of rules while four workers of gunicorn and two of uvicorn run: however they are made, all obey.

How soon is not asserted here, since a busy machine has its own pace: `tests.serving.edits` measures it. What tells
a signalled edit from one that is only found is that the second waits for the next reading, which is far away here
unless a test brings it near.
"""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratewindow.counting.sums import NOTHING
from tests.serving.edits import Editor, edit_in_the_admin, editing, limit_in_rules, until_all_obey
from tests.serving.fixtures import USUAL, elsewhere
from tests.serving.servers import KINDS, MORE_KINDS, Place, new_address, place, until

pytestmark = pytest.mark.slow

UNREAD = "the rules cannot be read"
NEVER_S = "100000"  # no reading but the first, unless there is news


class Fleet:
    """The servers, and the process beside them in which rules are edited."""

    def __init__(self, place: Place, editor: Editor, reread_s: str, kinds: tuple[str, ...] = ("preload", "uvicorn")) -> None:
        self.place, self.editor = place, editor
        self.servers = [place.serve(kind, {"SERVED_REREAD_S": reread_s}, REFRESH="300ms") for kind in kinds]

    def said(self) -> str:
        return "".join(served.said() for served in self.servers)


@pytest.fixture(scope="module")
def fleet(site_database: Path) -> Iterator[Fleet]:
    """For tests that leave Redis, the database and its columns as they were."""
    with place(site_database) as made, editing(made) as editor:
        yield Fleet(made, editor, NEVER_S)


@pytest.mark.parametrize("how", ["save", "loaddata"])
def test_an_edit_that_signals_tell_of_is_obeyed_by_all_workers(fleet: Fleet, how: str) -> None:
    for limit in (2001, 2002, 2003):
        fleet.editor.edit(how, limit=limit)
        until_all_obey(fleet.servers, limit)


def test_an_edit_in_the_admin_is_obeyed_by_all_workers(fleet: Fleet) -> None:
    for limit in (3001, 3002):
        edit_in_the_admin(fleet.servers[0], limit)
        until_all_obey(fleet.servers, limit)


def test_another_rate_for_everybody_holds_in_all_workers_until_it_is_taken_away(fleet: Fleet) -> None:
    fleet.editor.edit("save", limit=3500)
    fleet.editor.edit("tighten", limit=3501)
    until_all_obey(fleet.servers, 3501)
    fleet.editor.edit("let go")
    until_all_obey(fleet.servers, 3500)


def test_an_edit_that_nothing_tells_of_is_obeyed_after_the_next_reading(served_place: Place) -> None:
    with editing(served_place) as editor:
        fleet = Fleet(served_place, editor, "0.5", ("preload",))
        for how, limit in (("update", 4001), ("sql", 4002)):
            editor.edit(how, limit=limit)
            until_all_obey(fleet.servers, limit)


@pytest.mark.parametrize("kind", [elsewhere(kind) for kind in (*KINDS, *MORE_KINDS) if kind not in USUAL])
def test_an_edit_is_obeyed_by_workers_of_every_kind(served_place: Place, kind: str) -> None:
    with editing(served_place) as editor:
        fleet = Fleet(served_place, editor, NEVER_S, (kind,))
        editor.edit("save", limit=5001)
        until_all_obey(fleet.servers, 5001)


def test_an_edit_while_redis_is_down_is_obeyed_and_so_is_one_after_it_came_back_empty(fleet: Fleet) -> None:
    fleet.place.stop_redis()
    fleet.editor.edit("save", limit=6001)
    until_all_obey(fleet.servers, 6001, limit_in_rules)
    fleet.place.start_redis()
    fleet.editor.edit("save", limit=6002)
    until_all_obey(fleet.servers, 6002, limit_in_rules)
    until(lambda: fleet.servers[1].get("/edited/", new_address()).has("X-RateLimit-Limit"), "Redis was not used again")
    until_all_obey(fleet.servers, 6002)


def test_an_edit_after_redis_lost_its_data_is_obeyed(fleet: Fleet) -> None:
    fleet.editor.edit("save", limit=7001)
    until_all_obey(fleet.servers, 7001)
    fleet.place.redis.flushall()
    fleet.editor.edit("save", limit=7002)
    until_all_obey(fleet.servers, 7002)


def test_while_the_database_is_down_the_last_good_rules_hold_and_afterwards_edits_act(fleet: Fleet) -> None:
    place, before = fleet.place, fleet.said().count(UNREAD)
    fleet.editor.edit("save", limit=8001)
    until_all_obey(fleet.servers, 8001)
    place.stop_database()
    place.redis.delete("rw:token")  # what makes each process read
    until(lambda: fleet.said().count(UNREAD) >= before + 6, "nobody tried to read")
    until_all_obey(fleet.servers, 8001)
    assert fleet.servers[0].statuses("/path/", 3) == [200, 200, 429]
    assert fleet.servers[1].statuses("/path/", 3) == [200, 200, 429]
    place.start_database()
    fleet.editor.edit("save", limit=8002)
    until_all_obey(fleet.servers, 8002)
    assert fleet.said().count(UNREAD) == before + 6  # once for each process


def test_a_database_that_hangs_holds_up_neither_requests_nor_what_else_is_to_be_done(served_place: Place) -> None:
    with editing(served_place) as editor:
        fleet = Fleet(served_place, editor, NEVER_S, ("preload",))
        with contextlib.closing(sqlite3.connect(served_place.database, timeout=20)) as hog:
            hog.execute("PRAGMA locking_mode = EXCLUSIVE")
            hog.execute("BEGIN EXCLUSIVE")  # whoever reads waits now for twenty seconds, and then gives up
            hasty = contextlib.closing(sqlite3.connect(served_place.database, timeout=0))
            with hasty as other, pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("SELECT name FROM ratewindow_raterule")
            served_place.redis.delete("rw:token")  # what makes each process read
            assert fleet.servers[0].statuses("/path/", 3) == [200, 200, 429]
            until(lambda: served_place.counted().get("by.path", NOTHING)[:2] == (2, 1), "nothing was sent", timeout_s=15)
        editor.edit("save", limit=8003)
        until_all_obey(fleet.servers, 8003)


def _alter(place: Place, *statements: str) -> None:
    with sqlite3.connect(place.database, timeout=20) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_an_older_version_survives_columns_and_rows_that_it_does_not_know(served_place: Place) -> None:
    """A rolling deploy: the newer version has migrated, and somebody uses what it brought."""
    column = "ALTER TABLE ratewindow_raterule ADD COLUMN mood varchar(9) NOT NULL DEFAULT 'calm'"
    newer = "UPDATE ratewindow_rulewindow SET algorithm = 'crystal_ball' WHERE rule_id = (SELECT id FROM ratewindow_raterule"
    with editing(served_place) as editor:
        fleet = Fleet(served_place, editor, NEVER_S, ("preload",))
        _alter(served_place, column, f"{newer} WHERE name = 'by.path')")
        editor.edit("save", limit=9001)
        until_all_obey(fleet.servers, 9001)
    assert fleet.servers[0].statuses("/path/", 3) == [200, 200, 429]  # as it was before
    started = served_place.serve("uvicorn", REFRESH="300ms")
    assert "rule 'by.path' is left out, it cannot be enforced" in started.said()
    until_all_obey([started], 9001)
    assert started.statuses("/form/", 2, method="POST") == [200, 429]


def test_a_newer_version_serves_before_the_table_is_migrated_and_reads_once_it_is(served_place: Place) -> None:
    _alter(served_place, "ALTER TABLE ratewindow_raterule DROP COLUMN message")
    started = served_place.serve("uvicorn", REFRESH="300ms")
    assert started.statuses("/edited/", 2) == [200, 200]
    assert started.statuses("/sync/", 3) == [200, 200, 429]  # a rate in code needs no row
    assert started.said().count(UNREAD) == started.workers_wanted
    _alter(served_place, "ALTER TABLE ratewindow_raterule ADD COLUMN message varchar(200) NOT NULL DEFAULT ''")
    until_all_obey([started], 1000)


def test_a_worker_that_was_killed_is_replaced_by_one_that_obeys(fleet: Fleet) -> None:
    gunicorn = fleet.servers[0]
    victim = next(iter(gunicorn.workers()))
    fleet.editor.edit("save", limit=2777)
    os.kill(victim, signal.SIGKILL)
    until(lambda: victim not in gunicorn.workers(), "the worker did not die")
    until_all_obey([gunicorn], 2777)


def test_a_rule_that_is_deleted_holds_nowhere(fleet: Fleet) -> None:
    """Last, since nothing is left to edit."""
    fleet.editor.edit("delete")
    until_all_obey(fleet.servers, "", limit_in_rules)
    assert not fleet.servers[0].get("/edited/", new_address()).has("X-RateLimit-Limit")
