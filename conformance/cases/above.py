"""Never above the limit: in a row, at once, at the border of a window and in any window that slides."""

import time
from concurrent.futures import ThreadPoolExecutor

from conformance.cases.case import Group
from conformance.client import THREADS, Answer, ran, statuses
from conformance.running import Site
from conformance.verdict import Verdict, judge

PERIOD_S = 2.0  # of the view `brief`, which admits five
LIMIT = 5
CASES = Group("never above", "views")


@CASES.case("row", "Of twelve requests in a row at a limit of five, the first five pass.")
def in_a_row(site: Site) -> Verdict:
    answers = site.client().several("/few/", 12)
    return judge(
        ran(answers[:5]) == 5 and all(each.refused for each in answers[5:]),
        f"{ran(answers)} of 12 admitted at 5: {statuses(answers)}",
    )


@CASES.case("at once", "Of 80 requests at once, over threads and two processes, exactly the limit of 20 pass, five times over.")
def at_once(site: Site) -> Verdict:
    admitted = [ran(site.client().at_once("/twenty/", 80)) for _ in range(5)]
    return judge(admitted == [20] * 5, f"{', '.join(map(str, admitted))} of 80 admitted at 20")


@CASES.case("innocents", "Of 300 requests at once, far below a limit of 1,000, at most one in twenty is refused.")
def innocents(site: Site) -> Verdict:
    answers = site.client().at_once("/roomy/", 300)
    return judge(ran(answers) >= 285, f"{300 - ran(answers)} of 300 not admitted at 1,000: {statuses(answers)}")


@CASES.case("clients", "Of thirty clients at once with seven requests each, each gets its five, and pays for no other.")
def clients(site: Site) -> Verdict:
    with ThreadPoolExecutor(THREADS) as pool:
        admitted = list(pool.map(lambda _: ran(site.client().several("/few/", 7)), range(30)))
    return judge(admitted == [5] * 30, f"between {min(admitted)} and {max(admitted)} of 7 admitted at 5")


@CASES.case(
    "border", "A client that waits for the border of a fixed window gets no second limit beyond it: five in any two seconds."
)
def border(site: Site) -> Verdict:
    """Forty clients at different moments: one of them meets the border, wherever the windows begin."""

    def play(number: int) -> list[Answer]:
        client = site.client()
        begun = time.monotonic() + number % 8 * PERIOD_S / 8
        answers = []
        for after_s, count in ((0.0, 1), (PERIOD_S - 0.35, LIMIT), (PERIOD_S + 0.35, LIMIT)):
            time.sleep(max(0.0, begun + after_s - time.monotonic()))
            answers += client.several("/brief/", count)
        return answers

    with ThreadPoolExecutor(40) as pool:
        most = max(most_in_a_window(answers) for answers in pool.map(play, range(40)))
    return judge(most <= LIMIT, f"{most} admitted within two seconds at 5 per 2 s")


def most_in_a_window(answers: list[Answer]) -> int:
    """How many were admitted in one window for certain: a request is admitted after it is sent, and before its view runs."""
    admitted = [each for each in answers if each.ran]
    return max(
        (
            sum(first.sent_at <= each.sent_at and each.ran_at < first.sent_at + PERIOD_S for each in admitted)
            for first in admitted
        ),
        default=0,
    )
