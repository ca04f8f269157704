"""Async views under ASGI."""

import threading
import time

from conformance.cases.case import Group
from conformance.client import Answer, ran, statuses
from conformance.running import Site
from conformance.verdict import Verdict, judge

FREE_WITHIN_S = 0.5
CASES = Group("async", "async", kind="asgi")


@CASES.case("awaited", "An async view is awaited, and of 80 requests at once exactly the limit of 20 pass, three times over.")
def awaited(site: Site) -> Verdict:
    rounds = [site.client().at_once("/async/twenty/", 80) for _ in range(3)]
    answers = [each for answers in rounds for each in answers]
    admitted = [ran(answers) for answers in rounds]
    return judge(admitted == [20] * 3, f"{', '.join(map(str, admitted))} of 80 admitted at 20: {statuses(answers)}")


@CASES.case("loop", "While Redis does not answer, the event loop goes on: another view answers within half a second.")
def loop(site: Site) -> Verdict:
    limited: list[Answer] = []
    site.client().several("/async/twenty/", 3)
    with site.store.hung():
        threads = [threading.Thread(target=lambda: limited.append(site.client().get("/async/twenty/"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        free = []
        for _ in range(8):
            time.sleep(0.05)
            free.append(site.client().get("/async/free/"))
        for thread in threads:
            thread.join(10)
    slowest = max(each.seconds for each in free)
    return judge(ran(free) == 8 and slowest < FREE_WITHIN_S, f"a view without a limit took {slowest:.1f} s")
