"""What a request costs: a refused one nothing, and of two limits both are charged or none."""

import time

from conformance.cases.case import Group
from conformance.client import ran
from conformance.running import Site
from conformance.verdict import Verdict, judge

CASES = Group("what counts", "views")


@CASES.case(
    "refused", "Refused requests cost nothing: who never stops trying is admitted fifteen times in six seconds, at five in two."
)
def refused(site: Site) -> Verdict:
    client, answers, until = site.client(), [], time.monotonic() + 6.2
    while time.monotonic() < until:
        answers.append(client.get("/brief/"))
        time.sleep(0.02)
    return judge(ran(answers) >= 15, f"{ran(answers)} of {len(answers)} admitted in six seconds at 5 per 2 s")


@CASES.case(
    "all or none", "Of two limits, a request that one refuses does not use up the other, in whichever order they are written."
)
def all_or_none(site: Site) -> Verdict:
    clients = {"/both/": site.client(), "/both-reversed/": site.client()}
    for path, client in clients.items():
        client.several(path, 12)
    time.sleep(2.3)
    later = {path: ran(client.several(path, 4)) for path, client in clients.items()}
    admitted = " and ".join(map(str, later.values()))
    return judge(
        all(count == 4 for count in later.values()), f"{admitted} of 4 admitted, in the two orders, after refusals by 4/2s"
    )


@CASES.case("apart", "Two views with the same limit have a count each.")
def apart(site: Site) -> Verdict:
    client = site.client()
    client.several("/few/", 6)
    other = client.several("/other/", 5)
    return judge(ran(other) == 5, f"{ran(other)} of 5 admitted at a view that was never asked before")
