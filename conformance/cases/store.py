"""What happens while the store is down, hung, emptied, and when it is back."""

import time

from conformance.cases.case import Group
from conformance.client import Answer, ran, statuses
from conformance.running import Site
from conformance.verdict import Verdict, judge

BOUND_S = 2.0  # for one answer
BACK_WITHIN_S = 5.0
CASES = Group("store", "views", kind="open", alone=True)


def slowest(answers: list[Answer]) -> float:
    return max(each.seconds for each in answers)


@CASES.case("down open", "Redis is down, and the site is told to let requests pass: they pass, each within two seconds.", "open")
def down_open(site: Site) -> Verdict:
    site.client().several("/few/", 3)
    site.store.kill()
    answers = site.client().several("/few/", 12)
    return judge(
        ran(answers) == 12 and slowest(answers) < BOUND_S, f"{statuses(answers)}, the slowest after {slowest(answers):.1f} s"
    )


@CASES.case(
    "down closed",
    "Redis is down, and the site is told to refuse: each is refused within two seconds, and none is an error.",
    "closed",
    kind="closed",
)
def down_closed(site: Site) -> Verdict:
    site.client().several("/few/", 3)
    site.store.kill()
    answers = site.client().several("/few/", 12)
    refused = sum(each.refused for each in answers)
    return judge(refused == 12 and slowest(answers) < BOUND_S, f"{statuses(answers)}, the slowest after {slowest(answers):.1f} s")


@CASES.case(
    "hung", "Redis accepts connections and does not answer: each request is answered within two seconds, and none by an error."
)
def hung(site: Site) -> Verdict:
    site.client().several("/few/", 3)
    with site.store.hung():
        answers = site.client().several("/few/", 6)
    broken = [each for each in answers if each.broken]
    return judge(not broken and slowest(answers) < BOUND_S, f"{statuses(answers)}, the slowest after {slowest(answers):.1f} s")


@CASES.case("back", "Five seconds after Redis is back the limit acts again, in each process and without a restart of the site.")
def back(site: Site) -> Verdict:
    site.client().several("/few/", 3)
    site.store.kill()
    site.client().several("/few/", 8)
    site.store.start()
    time.sleep(BACK_WITHIN_S)
    answers = site.client().several("/twenty/", 40)
    return judge(
        ran(answers) == 20 and not any(each.broken for each in answers),
        f"{ran(answers)} of 40 admitted at 20: {statuses(answers)}",
    )


@CASES.case(
    "scripts lost",
    "Redis forgets its scripts and connections, as at a failover: no request is an error, and none is above the limit.",
)
def scripts_lost(site: Site) -> Verdict:
    client = site.client()
    answers = client.several("/twenty/", 10)
    site.store.client.script_flush()
    site.store.client.client_kill_filter(_type="normal", skipme=True)
    answers += client.several("/twenty/", 20)
    return judge(
        ran(answers) == 20 and not any(each.broken for each in answers),
        f"{ran(answers)} of 30 admitted at 20: {statuses(answers)}",
    )


@CASES.case("data lost", "Redis loses its data: a client that was refused stays refused.")
def data_lost(site: Site) -> Verdict:
    client = site.client()
    client.several("/few/", 6)
    site.store.kill()
    site.store.start()
    time.sleep(BACK_WITHIN_S)
    answers = client.several("/few/", 6)
    return judge(ran(answers) == 0, f"{ran(answers)} of 6 admitted again")
