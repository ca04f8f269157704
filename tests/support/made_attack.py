"""An attack, as another process has counted it."""

import time

from ratewindow.counting import minutes
from ratewindow.counting.sums import Counted, Group, Sums, Who

THE_NETWORK = "ip:203.0.113.0/24"


def attack(rule: str = "login", outcome: str = "refused", lasting: int = 16) -> None:
    """Of fourteen addresses, in this minute and those before."""
    minute = int(time.time()) // 60
    counted = Counted(75, 0, 80) if outcome == "refused" else Counted(0, 75, 80)
    named = {f"ip:203.0.113.{each}": counted for each in range(14)}
    named["user:42"] = Counted(2, 0, 9)
    network = Counted(*(14 * each for each in counted[:2]))
    total = Counted(14 * counted.refused + 2, 14 * counted.would_refuse, 1230)
    who = Who(total, Group(named), Group({THE_NETWORK: network}))
    sums = Sums(
        passed=1230 - total.refused, refused=total.refused, would_refuse=total.would_refuse, reasons={"limit": total.refused}
    )
    numbers = range(minute - lasting + 1, minute + 1)
    minutes.send(
        {number: {f"p|{rule}": sums} for number in numbers}, time.time(), {number: {f"p|{rule}": who} for number in numbers}
    )
