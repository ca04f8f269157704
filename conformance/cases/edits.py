"""Limits that staff edit while the site runs."""

import time

from conformance.cases.case import Group
from conformance.client import ran
from conformance.running import Site
from conformance.verdict import Verdict, judge

ACTS_WITHIN_S = 3.0
CASES = Group("edits", "edits", kind="edits")


@CASES.case(
    "acts", "A limit that is edited from five to eight acts within three seconds in each process, and keeps what was counted."
)
def acts(site: Site) -> Verdict:
    client = site.client()
    before = client.several("/edited/", 5)
    client.get("/edit/?requests=8")
    time.sleep(ACTS_WITHIN_S)
    after = client.several("/edited/", 10)
    return judge(
        ran(before) == 5 and ran(after) == 3,
        f"{ran(before)} of 5 before the edit, {ran(after)} of 10 after it, where three were left",
    )
