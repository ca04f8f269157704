"""A site with a rule for each thing that a page may have to say, blocks, and counts."""

import time
from typing import Any

from ratewindow.counting import minutes
from ratewindow.counting.sums import Counted, Group, Sums, Who
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.support.rule_pages import define


def rules() -> list[RateRule]:
    """One for each thing that a sentence may have to say."""
    common: dict[str, Any] = {"path": "/x/"}
    found = [
        define("r1", "5/m; 20/h", **common, key="ip+post:u", methods="POST", count_when="login_failed", penalty="15m"),
        define("r2", "30/m", **common, mode="enforce", enforce_percent=10, cost=2, normalise=True),
        define("r3", "30/m", prefix="/api/", mode="enforce", on_missing="refuse", key="header:x-y", count_refused=True),
        define("r4", "1/d", route="x1", mode="off", on_missing="allow", key="user", count_when="401,5xx"),
        define("r5", "5/m", regex="^/x/$", response_status=503, message="", on_error="local", key="user_or_ip"),
        define("r6", "5/m", mode="enforce"),
        define("r7", "0/s", route="no", key="global"),
        define("r8", "5/2h30m", prefix="/no/", key="jwt:t+cookie:c+query:q+json:j+body:b+session"),
    ]
    for number, (algorithm, more) in enumerate(
        {"fixed_window": {"aligned_to": "day"}, "token_bucket": {"burst": 9}, "sliding_log": {}, "leaky_bucket": {}}.items()
    ):
        found[number].windows.create(limit=7, period="24h", algorithm=algorithm, **more)
    reading.reload()
    return found


def overrides() -> list[Override]:
    found = [
        Override.objects.block("ip:203.0.113.9", reason="?"),
        Override.objects.allow("user:42", rule="r1"),
        Override.objects.rate("group:g1", "10/m", rule="r9"),
    ]
    Override.objects.filter(pk=found[0].pk).update(source="command")
    return found


def counts() -> None:
    """Each rule has refused three clients of one network, and decided once without Redis."""
    now_s = time.time()
    network = "ip:203.0.113.0/24"
    clients = {f"ip:203.0.113.{n}": Counted(10, 5) for n in (1, 2, 3)}
    who = Who(
        Counted(30, 15, 120),
        Group(clients, Counted(5)),
        Group({network: Counted(30, 15)}, Counted(5)),
    )
    sums = Sums(
        passed=90,
        refused=30,
        would_refuse=15,
        other=4,
        near=3,
        fallback=1,
        reasons={"limit": 20, "penalty": 10, "store:timeout": 1},
    )
    names = [f"p|{name}" for name in ("r1", "r2", "r3", "r6", "c1", "blocks")]
    minute = int(now_s) // 60
    minutes.send({minute: dict.fromkeys(names, sums)}, now_s, {minute: dict.fromkeys(names, who)})
