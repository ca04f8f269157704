"""``manage.py ratewindow backtest``: one rule, all of them, or one by its rates, as tables, JSON or a page."""

import gzip
import json
from datetime import timedelta

import pytest

from ratewindow.models import RateRule
from ratewindow.operations.logs import log as logs
from tests.support.backtest_logs import NASA
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
    assert values(log, "--rates", "20/m", "--cost", "2")["refused"] == 50
    assert values(log, "--rates", "20/m", "--count-refused")["refused"] == 40
    assert values(log, "--rates", "5/10s", "--penalty", "1h")["refused"] == 55
    assert values(log, "--rates", "20/m", "--algorithm", "token_bucket", "--burst", "60")["refused"] == 0
    assert values(log, "--rates", "5/m", "--count-when", "4xx")["refused"] == 0


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
    assert "kept from its first refusal on, or from its request 20 on" in text
    assert "how many people stand behind one address" in text


def test_another_log_beside_it(log, tmp_path):
    other = tmp_path / "quiet.log.gz"
    other.write_bytes(gzip.compress("".join(line(at) for at in range(0, 60, 2)).encode()))
    found = values(log, "--rates", "20/m", "--compare", str(other))
    assert (found["refused"], found["compare"]["refused"]) == (40, 10)
    assert "Compared with:\n\n30 requests" in run("backtest", log, "--rates", "20/m", "--compare", str(other))


def test_those_who_are_never_to_be_refused(log):
    found = values(log, "--rates", "20/m", "--never", "203.0.113.0/24", "--never", "ip:198.51.100.1")
    assert found["never"] == {"ip:203.0.113.9": 40}
    text = run("backtest", log, "--rates", "20/m", "--never", "203.0.113.9")
    assert "Refused, and never to be: ip:203.0.113.9 (40)" in text


def test_no_suggestion_says_why(log):
    found = values(log, "--rates", "20/m", "--suggest")
    assert found["suggestion"] is None
    assert "at least 1 day" in found["reason"]
    text = run("backtest", log, "--rates", "20/m", "--suggest")
    assert "No suggestion. The requests cover" in text
    assert "limit in 1m" in text


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


def test_a_page_in_one_file_that_loads_nothing(days, log, tmp_path):
    page = tmp_path / "backtest.html"
    assert run("backtest", days, "--rates", "20/m", "--html", str(page), "--compare", log) == f"Written to {page}."
    text = page.read_text()
    assert "default-src 'none'" in text
    assert text.count("<script") == 3  # two files of ours, and the data of the curve
    assert not any(f'{name}="{scheme}' in text for name in ("src", "href") for scheme in ("http", "//", "/"))
    assert "Suggested: " in text
    assert "The other log: 120 requests" in text


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ([], "say which rules decide"),
        (["--rates", "5/m", "--all"], "say which rules decide"),
        (["--key", "ip", "--all"], "--key is for a rule that is given by --rates"),
        (["--rates", "5/m", "--never", "nobody at all"], "nobody at all"),
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
    page = tmp_path / "page.html"
    run("backtest", str(path), "--rates", "5/m", "--html", str(page))
    assert "<script>alert" not in page.read_text()


def test_standard_input_is_read_only_once(log):
    for arguments in (("-", "-"), ("-", "--compare", "-")):
        assert "standard input can be read only once" in wrong("backtest", *arguments, "--rates", "20/m")


@pytest.mark.django_db
def test_a_rule_is_made_from_what_was_tried_with_its_evidence(log):
    fields = ("--path", "/search/", "--methods", "GET", "--penalty", "10m")
    told = run("backtest", log, "--rates", "5/m; 9/h", *fields, "--create", "search")
    assert "Saved in shadow: search, 5/m; 9/h. To enforce it: manage.py ratewindow mode search enforce" in told
    rule = RateRule.objects.get()
    assert (rule.mode, rule.applies_to, rule.pattern, rule.methods) == ("shadow", "path", "/search/", "GET")
    assert rule.penalty == timedelta(minutes=10)
    found = rule.evidence.get()
    assert (found.log, found.chosen, found.requests, len(found.periods)) == ("access.log", "5/m; 9/h", 60, 2)
    assert "203.0.113.9" not in json.dumps(found.periods)
    assert "rule 'search' exists already: choose another name" in wrong("backtest", log, "--rates", "5/m", "--create", "search")
    found = json.loads(run("backtest", log, "--rates", "5/m", "--create", "second", "--json"))
    assert found["created"] == {"name": "second", "rates": "5/m"}
    assert "'Search!' is not a rule name" in wrong("backtest", log, "--rates", "5/m", "--create", "Search!")
    assert "--create is about one rule" in wrong("backtest", log, "--all", "--create", "other")


@pytest.mark.django_db
def test_a_backtest_that_fails_makes_no_rule(log, tmp_path):
    nowhere = str(tmp_path / "nowhere" / "page.html")
    assert "cannot be written" in wrong("backtest", log, "--rates", "5/m", "--create", "search", "--html", nowhere)
    assert not RateRule.objects.exists()
    for number in range(4):
        RateRule.objects.define(f"stored-{number}", "5/m", regex=f"[a{chr(0x100 + number)}].{{14}}N")
    fifth = ("--rates", "5/m", "--regex", "b.{14}N", "--create", "fifth")
    assert "is too large together with the other 4 expressions of its kind" in wrong("backtest", log, *fifth)
    assert RateRule.objects.count() == 4
    # The name is read before the log, which may be long.
    assert "is not a rule name" in wrong("backtest", nowhere, "--rates", "5/m", "--create", "Search!")


@pytest.mark.django_db
def test_with_a_suggestion_the_rule_is_made_at_that_limit(tmp_path):
    """Two days of 210 clients with one to nine requests a minute, and one with sixty."""
    lines = []
    for hour in range(48):
        day, clock = 20 + hour // 24, hour % 24
        for client in range(210):
            for second in range(60) if client == 0 else range(client % 9 + 1):
                status = 404 if client == 0 else 200
                time = f"{day}/Nov/2026:{clock:02d}:{client % 60:02d}:{second:02d}"
                lines.append(f'10.0.0.{client} - - [{time} +0000] "GET / HTTP/1.1" {status} 1\n')
    path = tmp_path / "days.log"
    path.write_text("".join(lines))
    told = run("backtest", str(path), "--rates", "1000/m", "--suggest", "--create", "everything")
    limit = RateRule.objects.get().windows.get().limit
    assert 9 <= limit < 60 and f"Saved in shadow: everything, {limit}/m." in told
    assert RateRule.objects.get().evidence.get().periods[0]["suggestion"]["limit"] == limit


def test_a_log_out_of_order_has_no_numbers_and_a_reason_in_their_place(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "FAR", logs.NEAR)
    path = tmp_path / "turned.log"
    path.write_text("".join(line(at % 3600, f"198.51.100.{at % 7}") for at in reversed(range(20_000))))
    found = values(str(path), "--rates", "2/m", "--suggest")
    numbers = ("refused", "would_refuse", "clients_refused", "suggestion")
    assert [found[name] for name in numbers] == [None] * 4
    assert "sort the log by time first" in found["reason"]
    assert (found["requests"], found["rules"], found["curves"]) == (20_000, [], [])
    text = run("backtest", str(path), "--rates", "2/m", "--suggest")
    assert "No numbers. " in text and "REFUSED" not in text and "uggested" not in text
    page = tmp_path / "page.html"
    run("backtest", str(path), "--rates", "2/m", "--html", str(page))
    assert "sort the log by time first" in page.read_text() and "<table" not in page.read_text()


@pytest.mark.django_db
def test_no_rule_is_made_from_a_log_out_of_order(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "FAR", logs.NEAR)
    path = tmp_path / "turned.log"
    path.write_text("".join(line(at % 3600) for at in reversed(range(20_000))))
    assert "sort the log by time first" in wrong("backtest", str(path), "--rates", "2/m", "--create", "login")
    assert not RateRule.objects.exists()
