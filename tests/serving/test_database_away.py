"""Workers that start while the database is away: they hold the rules that others have read, or say that they hold none."""

import pytest

from tests.serving.servers import Place, until

pytestmark = pytest.mark.slow


def test_workers_that_start_while_the_database_is_away_hold_the_rules_that_others_have_read(served_place: Place) -> None:
    before = served_place.serve("sync")
    assert before.statuses("/login/", 3) == [200, 200, 429]
    until(lambda: served_place.redis.keys("rw:rules:*"), "no copy of the rules was kept")
    before.end()
    served_place.stop_database()
    recycled = served_place.serve("preload")
    assert recycled.statuses("/login/", 12).count(200) == 2
    assert recycled.said().count("rules hold as another process read them at") == recycled.workers_wanted
    recycled.end()
    served_place.redis.delete(*served_place.redis.keys("rw:rules:*"))
    without = served_place.serve("sync")
    assert without.statuses("/login/", 6) == [200] * 6
    assert without.statuses("/sync/", 6).count(200) == 2  # a rate in code
    told = without.said().count("the rules cannot be read, and this process holds none but rates in code")
    assert told == without.workers_wanted
    served_place.start_database()
    until(lambda: without.statuses("/login/", 3)[-1] == 429, "the rules were not read again")
