"""A log that is out of order is sorted as far as it can be, and says nothing of limits where it cannot."""

import gzip
import random

import pytest

from ratewindow.operations.backtest.plan import of_rates
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs import log as logs
from ratewindow.operations.logs.log import open_logs
from tests.support.log_files import line

ROWS = [line(number / 5, f"198.51.100.{number % 40}", path=f"/{number}") + "\n" for number in range(15_000)]
MIXED = random.Random(3).sample(ROWS, len(ROWS))


def found(paths):
    return backtest(open_logs(paths), of_rates("5/m"), with_peaks=True)


@pytest.fixture
def written(tmp_path):
    def write(rows, name="access.log"):
        path = tmp_path / name
        data = "".join(rows).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("rows", [ROWS[::-1], ROWS[7_000:] + ROWS[:7_000], MIXED], ids=["newest first", "in two parts", "mixed"])
def test_what_can_be_sorted_is_decided_in_the_order_of_time(written, rows):
    right, sorted_ = found([written(ROWS, "ordered.log")]), found([written(rows)])
    assert right.total.refused.least > 1000
    # Where the order within a second is lost, what is spread over it may differ by a little.
    assert sorted_.total.refused.least == right.total.refused.least
    assert abs(sorted_.total.refused.most - right.total.refused.most) < 50
    assert (sorted_.log.out_of_order, sorted_.reason) == (0, None)


def test_the_order_within_a_second_is_turned_with_the_rest_of_a_log_that_is_newest_first(written):
    right, turned = found([written(ROWS)]), found([written(ROWS[::-1], "turned.log")])
    assert turned.total == right.total
    assert turned.caught == right.caught


def test_several_logs_are_merged_whatever_the_order_of_each(written):
    parts = [ROWS[0::3][::-1], ROWS[1::3], ROWS[2::3][1000:] + ROWS[2::3][:1000]]
    merged = found([written(part, f"{number}.log") for number, part in enumerate(parts)])
    assert merged.total.refused.least == found([written(ROWS)]).total.refused.least
    assert merged.log.out_of_order == 0


@pytest.mark.parametrize("late, is_told", [(140, True), (160, False)])
def test_above_one_request_of_a_hundred_out_of_order_no_number_is_told(written, monkeypatch, late, is_told):
    monkeypatch.setattr(logs, "FAR", logs.NEAR)
    result = found([written(ROWS[late:] + ROWS[:late])])
    assert result.log.out_of_order == late
    assert (result.reason is None) == is_told
    assert bool(result.rules and result.periods and result.caught) == is_told
    if not is_told:
        assert str(result.reason).startswith("160 of 15,000 requests stand in the log far from their place in time")
        assert (result.total.requests, result.total.clients) == (15_000, 40)
        assert (result.total.refused.least, result.total.refused.most) == (0, 15_000)


def test_standard_input_cannot_be_read_again_and_is_sorted_at_once(written, monkeypatch):
    class Pipe(gzip.GzipFile):
        def seekable(self):
            return False

    with Pipe(written(ROWS[::-1], "newest.log.gz")) as pipe:
        assert found([pipe]).total == found([written(ROWS)]).total
