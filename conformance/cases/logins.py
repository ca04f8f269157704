"""People who guess passwords; a guess counts when the password was compared, whatever the page said."""

from concurrent.futures import ThreadPoolExecutor

from conformance.cases.case import Group
from conformance.client import THREADS
from conformance.running import Site, wrong_password
from conformance.verdict import Verdict, judge

GUESSES = 100
AT_MOST = 40  # of them, for whoever has one address or one name to try: limits differ, and none should be near the whole
CASES = Group("logins", "logins", kind="logins")


@CASES.case("many accounts", "Of 100 guesses from one address at 100 accounts, at most 40 are checked.")
def many_accounts(site: Site) -> Verdict:
    address, before = site.client().address, site.checked()
    for number in range(GUESSES):
        site.guess(site.client(address), f"user{number}")
    return _at_most(AT_MOST, site.checked() - before)


@CASES.case("many addresses", "Of 100 guesses from 100 addresses at one account, at most 40 are checked.")
def many_addresses(site: Site) -> Verdict:
    before = site.checked()
    for _ in range(GUESSES):
        site.guess(site.client(), "victim-1")
    return _at_most(AT_MOST, site.checked() - before)


def _at_most(limit: int, checked: int) -> Verdict:
    return judge(0 < checked <= limit, f"{checked} of {GUESSES} passwords checked")


@CASES.case("owner", "Meanwhile the owner of that account logs in, with the browser and from the address that were used before.")
def owner(site: Site) -> Verdict:
    browser = site.client()
    was_in = site.log_in(browser, "owner")
    for _ in range(GUESSES):
        site.guess(site.client(), "owner")
    is_in = site.log_in(browser, "owner")
    return judge(was_in and is_in, f"before the guesses the owner was {_in(was_in)}, after them {_in(is_in)}")


def _in(is_in: bool) -> str:
    return "let in" if is_in else "locked out"


@CASES.case(
    "at once", "Of 100 guesses at once from one address at one account, at most five are checked, the limit of all these guards."
)
def at_once(site: Site) -> Verdict:
    address, before = site.client().address, site.checked()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: site.guess(site.client(address), "victim-2"), range(GUESSES)))
    return _at_most(5, site.checked() - before)


@CASES.case(
    "right passwords",
    "25 right logins in a row are let in; and one's own do not set back the count of guesses at another account.",
)
def right_passwords(site: Site) -> Verdict:
    visitor, guesser = site.client(), site.client()
    let_in = sum(site.log_in(visitor, "mallory") for _ in range(25))
    before = site.checked()
    for number in range(GUESSES):
        site.guess(guesser, "victim-3")
        if number % 4 == 3:
            site.log_in(guesser, "mallory")
    guessed = site.checked() - before
    return judge(
        let_in == 25 and guessed <= AT_MOST, f"{let_in} of 25 let in; {guessed} of {GUESSES} passwords checked beside own logins"
    )


@CASES.case(
    "two doors",
    "The site's page and the admin's share one count: of 100 guesses at one account, by turns, at most five are checked.",
)
def two_doors(site: Site) -> Verdict:
    client, before = site.client(), site.checked()
    for _ in range(GUESSES // 2):
        site.guess(client, "victim-4")
        client.post("/admin/login/", username="victim-4", password=wrong_password())
    return _at_most(5, site.checked() - before)
