"""A log that is out of order says nothing of limits."""

import pytest

from ratewindow.contrib.backtest.logs.log import open_logs
from ratewindow.contrib.backtest.run import backtest, of_rates
from tests.support.log_files import line

ROWS = [line(number / 5, f"198.51.100.{number % 40}", path=f"/{number}") + "\n" for number in range(15_000)]


def found(paths):
    return backtest(open_logs(paths), of_rates("5/m"), with_curves=True)


@pytest.fixture
def written(tmp_path):
    def write(rows, name="access.log"):
        path = tmp_path / name
        path.write_text("".join(rows))
        return path

    return write


@pytest.mark.parametrize("late, is_told", [(140, True), (160, False)])
def test_above_one_request_of_a_hundred_out_of_order_no_number_is_told(written, late, is_told):
    result = found([written(ROWS[late:] + ROWS[:late])])
    assert result.log.out_of_order == late
    assert (result.reason is None) == is_told
    assert bool(result.rules and result.periods and result.caught) == is_told
    if not is_told:
        assert str(result.reason).startswith("160 of 15,000 requests stand in the log far from their place in time")
        assert (result.total.requests, result.total.clients) == (15_000, 40)
        assert (result.total.refused.least, result.total.refused.most) == (0, 15_000)
