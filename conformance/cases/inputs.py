"""Rates and keys that are not what they seem."""

from urllib.parse import quote

from conformance.cases.case import Group
from conformance.client import ran, statuses
from conformance.running import Site
from conformance.verdict import Verdict, judge

DAY_S = 86_400
# What people write, and how long a count of it must be kept; 0: it is no rate.
RATES = {"2/week": 6 * DAY_S, "2/month": 27 * DAY_S, "2/minute": 59, "2/parsec": 0, "-2/m": 0, "2/mo": 0, "two/m": 0}
ODD_VALUES = ("a" * 7000, "caf\xe9", "a b\tc", "{x}", "%00%0a", "'\"--", "*")
CASES = Group("odd input")


@CASES.case(
    "rates", "A rate means what it says, or is an error: `2/week` is no second, `2/month` no minute, `2/parsec` nothing.", "rate"
)
def rates(site: Site) -> Verdict:
    """By what is kept in the store, and for how long, after one request."""
    misread = [f"{text} {told}" for text, least_s in RATES.items() if (told := _misread(site, text, least_s))]
    return judge(not misread, "; ".join(misread))


def _misread(site: Site, text: str, least_s: int) -> str:
    before = site.store.key_names()
    answer = site.client().get(f"/rate/?text={quote(text)}")
    if not answer.ran:
        return "refuses all" if answer.refused and least_s else ""
    longest_s = max((site.store.client.ttl(key) for key in site.store.key_names() - before), default=0)
    return f"is kept {longest_s} s" if longest_s < least_s or not least_s else ""


@CASES.case(
    "no key", "Clients that leave out the header they are counted by are limited, without an error, and not all as one.", "header"
)
def no_key(site: Site) -> Verdict:
    first = site.client().several("/by-header/", 20)
    second = site.client().several("/by-header/", 3)
    return judge(
        ran(first) == 5 and ran(second) == 3,
        f"{ran(first)} of 20 admitted at 5, then {ran(second)} of 3 to another address: {statuses(first)}",
    )


@CASES.case(
    "odd keys",
    "Values of 7 kB, other alphabets, blanks and braces are clients as others are: five of seven requests pass.",
    "header",
)
def odd_keys(site: Site) -> Verdict:
    wrong = {}
    for value in ODD_VALUES:
        client = site.client()
        answers = [client.get("/by-header/", X_Api_Key=value) for _ in range(7)]
        if ran(answers) != 5 or any(each.broken for each in answers):
            wrong[value[:12]] = statuses(answers)
    return judge(not wrong, f"{wrong}")
