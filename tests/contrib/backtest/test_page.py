"""The page of backtests."""

import gzip
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import translation

from ratewindow.contrib.backtest import page as backtest_page
from ratewindow.contrib.backtest.logs.log import Most
from tests.contrib.backtest.support.pages import PAGE, RATES, sent
from tests.support.log_files import a_day, line, log_file
from tests.support.pseudo_locale import wide, wide_letters
from tests.support.rule_pages import LIST, define, look, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


def test_the_sentence_comes_first(page: Client) -> None:
    text = said(sent(page, [*(line(each) for each in range(4)), line(5, "198.51.100.7"), line(6, path="/other/")]))
    assert "It would have refused 2 of the 5 requests that it matches (40 %), of 1 client." in text
    assert "The log has 6 requests, from" in text and "in the format combined." in text
    assert "many people stand behind one address" in text


def test_whole_seconds_leave_an_interval(page: Client) -> None:
    text = said(sent(page, [line(0), line(0)], rates="1/500ms"))
    assert "It would have refused between 0 and 1 of the 2 requests that it matches (50 %), of between 0 and 1 client." in text
    assert "each request is decided twice" in text


def test_a_rule_of_the_site_is_tried_as_if_it_was_enforced_at_its_own_limits_or_at_others(page: Client) -> None:
    define("login", "2/m", path="/login/")
    lines = [line(each) for each in range(5)]
    own = {"rule": "login", "rates": "", "path": ""}
    assert "It would have refused 3 of the 5 requests" in said(sent(page, lines, **own))
    assert "It would have refused 1 of the 5 requests" in said(sent(page, lines, **{**own, "rates": "4/m"}))


def test_who_is_caught_is_listed_with_paths_statuses_and_agents(page: Client) -> None:
    text = said(sent(page, [line(each, status=401, agent="evil/1") for each in range(4)]))
    assert "ip:203.0.113.9 4 4 GET /login/ ×4 401 ×4 evil/1" in text


def test_clients_are_masked_for_those_who_may_not_see_them() -> None:
    page = staff("view_raterule", "view_throttlestat")
    text = said(sent(page, [line(each) for each in range(4)]))
    assert "ip:203.0.113.9" not in text and "ip:203.0.113.x" in text
    assert "Make this a shadow rule" not in text


def test_lines_that_cannot_be_read_are_counted_and_shown(page: Client) -> None:
    text = said(sent(page, [*(line(each) for each in range(30)), "what is this"]))
    assert "1 line cannot be read, and is left out." in text and "access.log, line 31:" in text


def test_lines_that_cannot_be_read_are_shown_in_the_language_of_the_page(page: Client) -> None:
    with wide_letters():
        few = sent(page, [*(line(each) for each in range(30)), "what is this"]).content.decode()
        many = sent(page, [*(line(each) for each in range(9)), *["what is this"] * 9]).content.decode()
    for text in (few, many):
        assert wide("line") in text and wide("not in the format") in text
        assert not re.search(r"line \d|not in the format", text)
    assert "what is this" in many


def test_numbers_are_written_as_in_the_language_of_the_page(page: Client) -> None:
    assert "100,000 requests" in said(page.get(PAGE))
    with translation.override("de"), override_settings(LANGUAGE_CODE="de"):
        assert "100.000 requests" in said(page.get(PAGE))


def test_a_packed_log_is_unpacked(page: Client) -> None:
    packed = log_file(name="access.log.gz", content=gzip.compress("\n".join(line(each) for each in range(4)).encode()))
    assert "It would have refused 2 of the 4" in said(sent(page, log=packed))


def test_a_day_has_a_curve_and_a_suggestion(page: Client) -> None:
    text = said(sent(page, a_day(), rates="30/m"))
    assert "Suggested: " in text and "/m." in text
    assert "lies in a gap" in text


HOSTILE = {
    "binary": bytes(range(256)) * 300,
    "half a gzip": gzip.compress(b"x" * 5000 + bytes(range(256)) * 40)[:60],
    "no gzip": b"\x1f\x8b" + b"nothing" * 20,
    "a long line": b"a" * 1_000_000,
    "long lines": (b"a" * 1_000_000 + b"\n") * 3,
    "no text": b'\xff\xfe - - [21/Sep/2026:13:33:20 +0000] "GET /\xff\x00 HTTP/1.1" 200 1 "-" "\xff"\n' * 4,
    "no text, met": b'\xff - \xff [21/Sep/2026:13:33:20 +0000] "GET /login/?\xff HTTP/1.1" 200 1 "-" "\xff\x00"\n' * 4,
    "a far time": b'203.0.113.9 - - [21/Sep/9999:23:59:59 -1200] "GET /login/ HTTP/1.1" 200 1 "-" "x"\n' * 4,
    "endless JSON": b"[" * 20_000,
    "JSON of other kinds": b'{"time": 1e400, "client": [], "request": {}}\n[]\nnull\n',
    "nothing but blanks": b"\n \n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_breaks_the_page_and_what_was_typed_stays(page: Client, name: str) -> None:
    response = sent(page, log=log_file(content=HOSTILE[name]))
    text = response.content.decode()
    assert 'role="alert"' in text or 'role="status"' in text
    assert 'role="status"' in text or ('value="2/m"' in text and 'value="/login/"' in text)


def test_an_empty_file_and_no_file_are_errors_at_the_field(page: Client) -> None:
    assert "The submitted file is empty." in said(sent(page, log=log_file(content=b"")))
    assert "This field is required." in said(page.post(PAGE, RATES))


def test_a_file_that_unpacks_to_too_much_is_an_error_that_names_the_command(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_page, "MOST", Most(requests=10, seconds=60, file_bytes=1_000_000))
    bomb = log_file(name="bomb.gz", content=gzip.compress(bytes(3_000_000)))
    text = said(sent(page, log=bomb))
    assert "larger than 1 MB once it is unpacked" in text and "manage.py ratewindow backtest" in text


def test_a_file_that_is_too_large_is_an_error_that_names_the_command(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_page, "MOST_BYTES", 100)
    assert "Use manage.py ratewindow backtest access.log instead." in said(sent(page, [line(0)] * 4))


def test_the_first_part_of_a_long_log_is_read_and_that_is_said(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_page, "MOST", Most(requests=3, seconds=60, file_bytes=1_000_000))
    text = said(sent(page, [line(each) for each in range(9)]))
    assert "It would have refused 1 of the 3 requests" in text and "This is the first part of the log" in text
    assert "use manage.py ratewindow backtest" in text


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"rates": "often"}, "often"),
        ({"rates": ""}, "write for example 10/m"),
        ({"rule": "nobody"}, "Select a valid choice."),
        ({"path": "login"}, "login"),
    ],
)
def test_what_is_typed_wrong_is_said_at_its_field_and_stays(page: Client, fields: dict[str, str], problem: str) -> None:
    response = sent(page, [line(0)], **fields)
    alerts = " ".join(re.findall(r'role="alert"[^>]*>(.*?)</p>', response.content.decode(), re.DOTALL))
    assert problem.replace("'", "&#x27;") in alerts


def at_field(response, name: str) -> str:
    """The errors of a field, which stand after its input."""
    return " ".join(map(str, response.context["form"].errors.get(name, [])))


def test_a_wrong_path_is_said_at_the_path_and_one_beside_a_chosen_rule_too(page: Client) -> None:
    wrong = sent(page, [line(0)], path="login")
    assert at_field(wrong, "path") == "'login' is not a path: begin with /, as in /login/." and not at_field(wrong, "rates")
    define("login", "2/m", path="/login/")
    assert "applies where it says: clear" in at_field(sent(page, [line(0)], rule="login", rates="", path="/elsewhere/"), "path")


def test_each_error_ends_with_one_full_stop(page: Client) -> None:
    for text in (at_field(sent(page, [line(0)], rates=""), "rates"), at_field(sent(page, ["what is this"] * 9), "log")):
        assert text.endswith(".") and not text.endswith(".."), text


def test_who_may_not_see_the_report_may_not_open_it(page: Client) -> None:
    rule = define("login", "2/m", path="/login/")
    looking = staff("view_raterule")
    assert looking.get(PAGE).status_code == looking.post(PAGE, RATES).status_code == 403
    assert "backtest/" not in looking.get(LIST).content.decode()
    assert f'href="{PAGE}"' in page.get(LIST).content.decode()
    assert f'href="{PAGE}?rule=login"' in page.get(look(rule)).content.decode()


def test_a_rule_is_chosen_by_the_address(page: Client) -> None:
    define("login", "2/m", path="/login/")
    define("api", "2/m", prefix="/api/")
    assert '<option value="login" selected>' in page.get(PAGE, {"rule": "login"}).content.decode()


def test_the_number_of_queries_does_not_depend_on_the_log(page: Client) -> None:
    counts = []
    for lines in ([line(0)] * 3, a_day()):
        with CaptureQueriesContext(connection) as queries:
            sent(page, lines)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_log_out_of_order_has_a_reason_in_the_place_of_numbers(page: Client) -> None:
    text = said(sent(page, [line(each) for each in range(20_000)][::-1]))
    assert "of 20,000 requests stand in the log far from their place in time" in text and "sort the log by time first" in text
    assert "refused" not in text.partition("The log has")[0] and "Make this a shadow rule" not in text
