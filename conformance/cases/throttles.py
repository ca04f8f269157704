"""Throttles of Django REST framework."""

from conformance.cases.case import Group
from conformance.client import ran
from conformance.running import Site
from conformance.verdict import Verdict, judge

CASES = Group("DRF", "drf")


@CASES.case(
    "throttle",
    "A throttle refuses as REST framework does, with 429, `Retry-After` and a `detail`, and of 80 requests at once it admits 20.",
)
def throttle(site: Site) -> Verdict:
    admitted = [ran(site.client().at_once("/drf/twenty/", 80)) for _ in range(5)]
    refusal = site.client().several("/drf/twenty/", 21)[-1]
    told = f"{refusal.status}, Retry-After {refusal.headers.get('Retry-After')}, {refusal.body[:60]}"
    is_right = refusal.status == 429 and refusal.headers.get("Retry-After", "").isdigit() and "detail" in refusal.body
    return judge(admitted == [20] * 5 and is_right, f"{', '.join(map(str, admitted))} of 80 admitted at 20; the refusal {told}")
