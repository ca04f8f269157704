"""What limits leave in the store."""

import time

from conformance.cases.case import Group
from conformance.running import Site
from conformance.verdict import NotApplicable, Verdict, judge

CASES = Group("memory", "views", kind="memory")
SETTLED_S = 4.0  # then a limiter has written what it writes of itself, however many requests come


@CASES.case("expiry", "Each key in the store expires, and those of 100 clients who came once are gone within two minutes.")
def expiry(site: Site) -> Verdict:
    for _ in range(100):
        site.client().get("/brief/")
    lives = [site.store.client.ttl(key) for key in site.store.key_names()]
    if not lives:
        raise NotApplicable("keeps nothing in the store")
    for_ever, long = lives.count(-1), sum(life > 120 for life in lives)
    return judge(
        not for_ever and long < 100, f"{for_ever} keys of {len(lives)} never expire, {long} live longer than two minutes"
    )


@CASES.case("refused", "Of six hundred refused requests of one client the later half adds less than two kilobytes to the store.")
def refused(site: Site) -> Verdict:
    client = site.client()
    client.several("/few/", 300)
    time.sleep(SETTLED_S)
    before = site.store.bytes_used()
    client.several("/few/", 300)
    grown = site.store.bytes_used() - before
    return judge(grown < 2048, f"{grown:,} bytes")
