"""The page of backtests."""

import gzip
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import translation

from ratewindow.admin.rules.backtest import form as backtest_form
from ratewindow.models import Override
from ratewindow.operations.logs import log as logs
from ratewindow.operations.logs.log import Most
from tests.support.backtest_pages import PAGE, RATES, offered, sent
from tests.support.log_files import a_day, line, log_file
from tests.support.pseudo_locale import wide, wide_letters
from tests.support.rule_pages import LIST, change, define, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


def test_the_sentence_comes_first(page: Client) -> None:
    text = said(sent(page, [*(line(each) for each in range(4)), line(5, "198.51.100.7"), line(6, path="/other/")]))
    assert "It would have refused 2 of the 5 requests that it meets (40 %), of 1 client." in text
    assert "The log has 6 requests, from" in text and "in the format combined." in text
    assert "many people stand behind one address" in text


def test_whole_seconds_leave_an_interval(page: Client) -> None:
    text = said(sent(page, [line(0), line(0)], rates="1/500ms"))
    assert "It would have refused between 0 and 1 of the 2 requests that it meets (50 %), of between 0 and 1 client." in text
    assert "each request is decided twice" in text


def test_a_rule_of_the_site_is_tried_as_if_it_was_enforced_at_its_own_limits_or_at_others(page: Client) -> None:
    define("login", "2/m", path="/login/")
    lines = [line(each) for each in range(5)]
    own = {"decides": "rule", "rule": "login", "rates": "", "applies_to": "", "pattern": ""}
    assert "It would have refused 3 of the 5 requests" in said(sent(page, lines, **own))
    assert "It would have refused 1 of the 5 requests" in said(sent(page, lines, **{**own, "rates": "4/m"}))


def test_all_rules_decide_in_their_modes_and_each_has_a_row(page: Client) -> None:
    define("login", "2/m", path="/login/", mode="enforce")
    define("tried", "1/m", path="/other/")
    lines = [*(line(each) for each in range(5)), line(6, path="/other/"), line(7, path="/other/")]
    text = said(sent(page, lines, decides="site"))
    assert "refused 3 of the 7 requests that they meet (43 %), and those in shadow would refuse 1 more" in text
    assert "Enforce login 2/m" in text and "Shadow tried 1/m" in text
    assert "Make this a shadow rule" not in text


def test_who_would_be_refused_is_listed_with_paths_statuses_and_agents(page: Client) -> None:
    text = said(sent(page, [line(each, status=401, agent="evil/1") for each in range(4)]))
    assert "ip:203.0.113.9 4 2 GET /login/ ×2 401 ×2 evil/1" in text
    assert "kept from its first refusal on, or from its request number 20 on" in text


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
        many = sent(page, ["what is this"] * 9, format="combined").content.decode()
    for text in (few, many):
        assert wide("line") in text and wide("not in the format") in text
        assert not re.search(r"line \d|not in the format", text)
    assert "what is this" in many


class TestTwoLogs:
    """An ordinary day, and one with an attack."""

    ORDINARY = [each for each in a_day() if not each.startswith("203.0.113.9")]

    def test_they_stand_side_by_side_in_sentences_curve_and_clients(self, page: Client) -> None:
        other = log_file(a_day(), name="attacked.log")
        text = said(sent(page, self.ORDINARY, compare=other, rates="30/m"))
        assert "This log: access.log It would have refused nothing: it meets 2,250 requests, of 300 clients." in text
        assert "The other log: attacked.log It would have refused 10 of the 2,290 requests" in text
        assert "Clients caught, this log" in text and "Clients caught, the other log" in text
        assert "Who is caught: this log" in text and "Who is caught: the other log" in text
        assert re.search(r"\b30 0 0 % 1 0 ", text)  # the row of the present limit: caught here, and there

    def test_the_suggestion_and_the_rule_are_those_of_the_first(self, page: Client) -> None:
        alone, compared = (
            offered(sent(page, self.ORDINARY, rates="30/m", **more)) for more in ({}, {"compare": log_file(a_day())})
        )
        assert alone["rates"] == compared["rates"]
        assert said(sent(page, self.ORDINARY, compare=log_file(a_day()), rates="30/m")).count("Suggested: ") == 1

    def test_an_other_log_without_requests_leaves_the_curve_of_the_first(self, page: Client) -> None:
        text = said(sent(page, a_day(), compare=log_file(content=b"\n \n"), rates="30/m"))
        assert "Suggested: 8/m." in text and "The log has no requests." in text

    def test_all_rules_of_the_site_are_compared_by_their_rows(self, page: Client) -> None:
        define("login", "2/m", path="/login/", mode="enforce")
        define("tried", "1/m", path="/other/")
        few, many = ([line(each) for each in range(count)] for count in (3, 9))
        text = said(sent(page, few, compare=log_file(many), decides="site"))
        assert "Enforce login 2/m 3 1 1 1" in text and "Enforce login 2/m 9 1 7 1" in text

    def test_what_is_wrong_with_the_other_log_is_said_at_its_field_and_nothing_else_is_shown(self, page: Client) -> None:
        text = sent(page, a_day(), compare=log_file(content=b"\x00\x01nothing" * 50)).content.decode()
        assert 'id="rw-backtest-compare_error"' in text and "rw-backtest-result" not in text

    def test_they_share_the_bounds_and_it_is_said_which_of_them_is_cut(self, page: Client, monkeypatch: Any) -> None:
        monkeypatch.setattr(backtest_form, "MOST", Most(requests=6, seconds=60, file_bytes=1_000_000))
        lines = [line(each) for each in range(5)]
        text = said(sent(page, lines, compare=log_file(lines[:3])))
        assert "refused 1 of the 3 requests that it meets (33 %), of 1 client. The log has 3 requests" in text
        assert text.count("This is the first part of the log") == 1
        assert text.index("This is the first part of the log") < text.index("The other log")

    def test_together_they_may_be_as_large_as_one(self, page: Client, monkeypatch: Any) -> None:
        monkeypatch.setattr(backtest_form, "MOST_BYTES", 500)
        lines = [line(each) for each in range(4)]
        assert "It would have refused 2 of the 4" in said(sent(page, lines))
        assert "access.log --compare instead." in said(sent(page, lines, compare=log_file(lines)))

    def test_one_log_cannot_be_compared_with_no_log(self, page: Client) -> None:
        text = page.post(PAGE, {**RATES, "compare": log_file(a_day())}).content.decode()
        assert 'id="rw-backtest-log_error"' in text and "This field is required." in text


@pytest.mark.parametrize("text", ["没有这条规则。", "यह नहीं है।", "«нет»", "not this.", "why not?"])
def test_what_is_a_sentence_already_gets_no_dot(text: str) -> None:
    assert backtest_form._said(ValueError(text)) == text


@pytest.mark.parametrize("text", ["not this", "没有", "(nor this)"])
def test_what_is_no_sentence_yet_gets_a_dot(text: str) -> None:
    assert backtest_form._said(ValueError(text)) == f"{text}."


def test_numbers_are_written_as_in_the_language_of_the_page(page: Client) -> None:
    assert "200,000 requests" in said(page.get(PAGE))
    with translation.override("de"), override_settings(LANGUAGE_CODE="de"):
        assert "200.000 requests" in said(page.get(PAGE))


def test_a_packed_log_is_unpacked(page: Client) -> None:
    packed = log_file(name="access.log.gz", content=gzip.compress("\n".join(line(each) for each in range(4)).encode()))
    assert "It would have refused 2 of the 4" in said(sent(page, log=packed))


def test_a_day_has_a_curve_and_a_suggestion(page: Client) -> None:
    text = said(sent(page, a_day(), rates="30/m"))
    assert "Suggested: " in text and "/m." in text
    assert "lies in a gap" in text


def test_clients_who_are_never_to_be_refused_are_named_if_they_would_be(page: Client) -> None:
    text = said(sent(page, [line(each) for each in range(4)], never="203.0.113.9\n"))
    assert "It would have refused clients who are never to be refused: ip:203.0.113.9 (2)." in text


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
@pytest.mark.parametrize("log_format", ["", "combined", "json"])
def test_no_file_breaks_the_page_and_what_was_typed_stays(page: Client, name: str, log_format: str) -> None:
    response = sent(page, log=log_file(content=HOSTILE[name]), format=log_format)
    text = response.content.decode()
    assert 'role="alert"' in text or 'role="status"' in text
    assert 'value="2/m"' in text and 'value="/login/"' in text


def test_an_empty_file_and_no_file_are_errors_at_the_field(page: Client) -> None:
    assert "The submitted file is empty." in said(sent(page, log=log_file(content=b"")))
    assert "This field is required." in said(page.post(PAGE, RATES))


def test_a_file_that_unpacks_to_too_much_is_an_error_that_names_the_command(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_form, "MOST", Most(requests=10, seconds=60, file_bytes=1_000_000))
    bomb = log_file(name="bomb.gz", content=gzip.compress(bytes(3_000_000)))
    text = said(sent(page, log=bomb, format="combined"))
    assert "larger than 1 MB once it is unpacked" in text and "manage.py ratewindow backtest" in text


def test_a_file_that_is_too_large_is_an_error_that_names_the_command(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_form, "MOST_BYTES", 100)
    assert "Use manage.py ratewindow backtest access.log instead." in said(sent(page, [line(0)] * 4))


def test_the_first_part_of_a_long_log_is_read_and_that_is_said(page: Client, monkeypatch) -> None:
    monkeypatch.setattr(backtest_form, "MOST", Most(requests=3, seconds=60, file_bytes=1_000_000))
    text = said(sent(page, [line(each) for each in range(9)]))
    assert "It would have refused 1 of the 3 requests" in text and "This is the first part of the log" in text
    assert "use manage.py ratewindow backtest" in text


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"rates": "often"}, "often"),
        ({"rates": ""}, "write for example 10/m"),
        ({"decides": "rule", "rule": ""}, "Choose a rule."),
        ({"decides": "rule", "rule": "nobody"}, "Select a valid choice."),
        ({"format": "other", "format_other": "comined"}, "Unknown format"),
        ({"pattern": "login"}, "login"),
        ({"never": "ip:nothing"}, "is neither an address nor a network"),
        ({"applies_to": "regex", "pattern": "(a+)+$"}, "Select a valid choice."),
    ],
)
def test_what_is_typed_wrong_is_said_at_its_field_and_stays(page: Client, fields: dict[str, str], problem: str) -> None:
    response = sent(page, [line(0)], **fields)
    alerts = " ".join(re.findall(r'role="alert"[^>]*>(.*?)</p>', response.content.decode(), re.DOTALL))
    assert problem.replace("'", "&#x27;") in alerts


def test_code_as_a_key_takes_a_superuser() -> None:
    page = staff("view_raterule", "view_throttlestat")
    assert "which only superusers may use as a key" in said(sent(page, [line(0)], key="other", key_other="os.path.join"))


def test_who_may_not_see_the_report_may_not_open_it(page: Client) -> None:
    rule = define("login", "2/m", path="/login/")
    looking = staff("view_raterule")
    assert looking.get(PAGE).status_code == looking.post(PAGE, RATES).status_code == 403
    assert "backtest/" not in looking.get(LIST).content.decode()
    assert f'href="{PAGE}"' in page.get(LIST).content.decode()
    assert f'href="{PAGE}?rule=login"' in page.get(change(rule)).content.decode()


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


def test_a_log_that_cannot_be_sorted_has_a_reason_in_the_place_of_numbers(page: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(logs, "FAR", logs.NEAR)
    lines = [line(each) for each in range(20_000)]
    text = said(sent(page, lines[::-1]))
    assert "of 20,000 requests stand in the log far from their place in time" in text and "sort the log by time first" in text
    assert "refused" not in text.partition("The log has")[0] and "Make this a shadow rule" not in text
    monkeypatch.undo()
    assert said(sent(page, lines[::-1])) == said(sent(page, lines))


@pytest.mark.parametrize("may_see", [(), ("view_override",), ("view_identity",)])
def test_who_may_not_view_blocks_and_identities_learns_from_no_number_who_is_blocked_or_exempt(may_see: tuple[str, ...]) -> None:
    define("login", "2/m", path="/login/", mode="enforce")
    lines = [line(second, f"203.0.113.{client}", path="/login/") for second in range(4) for client in range(1, 9)]
    few, full = staff("view_raterule", "view_throttlestat", *may_see), ("view_override", "view_identity")
    before = said(sent(few, lines, decides="site"))
    Override.objects.create(action="block", identity="ip:203.0.113.3")
    Override.objects.create(action="allow", identity="ip:203.0.113.5")
    Override.objects.create(action="rate", identity="ip:203.0.113.6", rule="login", rate="1/m")
    assert said(sent(few, lines, decides="site")) == before
    assert "without blocks and exemptions, which you may not view" in before and "Blocks and exemptions are left out" in before
    text = said(sent(staff("view_raterule", "view_throttlestat", *full), lines, decides="site"))
    assert "The rules would have refused 17 of the 28 requests" in text and "left out, since" not in text
