"""``manage.py ratewindow backtest``: one rule, all of them, or one by its rates, as tables or JSON."""

import gzip
import json

import pytest

from ratewindow.models import RateRule
from tests.contrib.backtest.support.logged import NASA
from tests.support.commands import run, wrong
from tests.support.log_files import busy_hours

LINE = '{client} - - [20/Nov/2026:09:{minute:02d}:{second:02d} +0000] "{method} {path} HTTP/1.1" {status} 7 "-" "{agent}"\n'


def line(at_s, client="203.0.113.9", method="GET", path="/", status=200, agent="curl"):
    return LINE.format(client=client, minute=at_s // 60, second=at_s % 60, method=method, path=path, status=status, agent=agent)


@pytest.fixture
def log(tmp_path):
    """A minute of one client once a second, and of ten others now and then."""
    path = tmp_path / "access.log"
    path.write_text("".join(line(at) + line(at, f"198.51.100.{at % 10}", path="/search/") for at in range(60)))
    return str(path)


def values(*arguments):
    return json.loads(run("backtest", *arguments, "--json"))


def test_one_json_object_has_what_is_promised(log):
    found = values(log, "--rates", "20/m", "--key", "ip", "--algorithm", "sliding_log")
    assert {name: found[name] for name in ("requests", "clients", "refused", "clients_refused")} == {
        "requests": 120,
        "clients": 11,
        "refused": 40,
        "clients_refused": 1,
    }
    assert found["log"]["whole_seconds"] is True
    assert found["caught"][0]["client"] == "ip:203.0.113.9"


def test_what_whole_seconds_leave_open_is_the_least_and_the_most():
    found = values(str(NASA), "--rates", "10/m", "--key", "ip", "--algorithm", "sliding_log")
    assert (found["requests"], found["clients"], found["refused"], found["clients_refused"]) == (4000, 416, [17, 18], [11, 12])


def test_a_rule_by_its_rates_has_the_fields_of_a_rule(log):
    assert values(log, "--rates", "5/m", "--prefix", "/search/", "--key", "global")["refused"] == 55
    assert values(log, "--rates", "5/m", "--path", "/search/", "--methods", "POST")["requests"] == 0
    assert values(log, "--rates", "20/m", "--algorithm", "token_bucket")["refused"] == 21


@pytest.mark.django_db
def test_rules_of_the_site(log):
    RateRule.objects.define("everything", "20/m", prefix="/", mode="shadow")
    RateRule.objects.define("search", "3/m", path="/search/", mode="enforce")
    assert values(log, "--rule", "everything")["refused"] == 40
    assert values(log, "--rule", "everything", "--rates", "30/m")["refused"] == 30
    found = values(log, "--all")
    rules = {each["name"]: each for each in found["rules"]}
    assert (rules["everything"]["refused"], rules["everything"]["would_refuse"]) == (0, 40)
    assert (found["refused"], found["would_refuse"], rules["search"]["refused"]) == (30, 40, 30)
    text = run("backtest", log, "--all")
    assert "all together" in text
    assert "would refuse 40" in text


def test_a_table_with_who_was_refused_and_what_the_log_cannot_show(log):
    text = run("backtest", log, "--rates", "20/m")
    assert "120 requests, format combined" in text
    rows = [row.split() for row in text.splitlines()]
    assert ["backtest", "enforce", "20/m", "120", "11", "40", "1"] in rows
    assert any(row[:3] == ["ip:203.0.113.9", "60", "40"] for row in rows)
    assert "how many people stand behind one address" in text


def test_no_suggestion_says_why(log):
    found = values(log, "--rates", "20/m", "--suggest")
    assert found["suggestion"] is None
    assert "at least 1 day" in found["reason"]
    text = run("backtest", log, "--rates", "20/m", "--suggest")
    assert "No suggestion. To suggest a limit for 1 minute takes a log of at least 1 day" in text
    assert "LIMIT IN 1m" in text


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.log"
    path.write_text(busy_hours(49, "/"))
    return str(path)


@pytest.mark.long
def test_a_suggestion_has_a_rate_and_a_reason(days):
    found = values(days, "--rates", "100/m", "--suggest")
    limit = int(found["suggestion"]["rate"].removesuffix("/m"))
    assert 6 <= limit < 40
    assert found["suggestion"]["reason"] == found["reason"]
    assert values(days, "--rates", found["suggestion"]["rate"])["clients_refused"] == 1
    both = values(days, "--rates", "100/m; 500/h", "--suggest")
    assert both["suggestion"]["rate"].startswith(f"{limit}/m; ")
    assert f"Suggested: {limit}/m." in run("backtest", days, "--rates", "100/m", "--suggest")


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ([], "say which rules decide"),
        (["--rates", "5/m", "--all"], "say which rules decide"),
        (["--key", "ip", "--all"], "--key is for a rule that is given by --rates"),
        (["--rates", "5/m", "--format", "fancy"], "fancy"),
        (["--all", "--suggest"], "--suggest is about one rule"),
    ],
)
@pytest.mark.django_db
def test_what_cannot_be_asked(log, arguments, problem):
    assert problem in wrong("backtest", log, *arguments)


def test_a_log_that_cannot_be_read(tmp_path):
    assert "missing.log" in wrong("backtest", str(tmp_path / "missing.log"), "--rates", "5/m")
    cut = tmp_path / "cut.log.gz"
    cut.write_bytes(gzip.compress(b"".join(line(at).encode() for at in range(60)))[:-20])
    assert "cut off" in wrong("backtest", str(cut), "--rates", "5/m")


def test_hostile_lines_are_counted_or_shown_harmlessly(tmp_path):
    path = tmp_path / "hostile.log"
    odd = line(1, client="\x1b[31mred\udcff", path="/\x1b]0;title\x07", agent="</script><script>alert(1)</script>\udc80")
    path.write_bytes("".join([*[odd] * 30, *[line(2)] * 30, "\0\udcff binary\n"]).encode(errors="surrogateescape"))
    text = run("backtest", str(path), "--rates", "5/m")
    assert "\x1b" not in text
    text.encode()
    assert values(str(path), "--rates", "5/m")["refused"] == 50


def test_a_log_out_of_order_has_no_numbers_and_a_reason_in_their_place(tmp_path):
    path = tmp_path / "turned.log"
    path.write_text("".join(line(at % 3600, f"198.51.100.{at % 7}") for at in reversed(range(20_000))))
    found = values(str(path), "--rates", "2/m", "--suggest")
    numbers = ("refused", "would_refuse", "clients_refused", "suggestion")
    assert [found[name] for name in numbers] == [None] * 4
    assert "sort the log by time first" in found["reason"]
    assert (found["requests"], found["rules"], found["curves"]) == (20_000, [], [])
    text = run("backtest", str(path), "--rates", "2/m", "--suggest")
    assert "No numbers. " in text and "REFUSED" not in text and "uggested" not in text
