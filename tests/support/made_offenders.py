"""Decisions about clients, and who met a rule, made by hand."""

from collections.abc import Mapping

from ratewindow.counting import minutes
from ratewindow.counting.sums import Counted, Group, Sums, Who
from ratewindow.limiter.types import Check, Decision, RuleDecision
from tests.support.made_counts import NOW_MINUTE, NOW_S


def met(who: str, outcome: str = "passed", rule: str = "login") -> Decision:
    """A decision about a client, as the limiter makes it."""
    check = Check(rule, (), (), identity=who)
    return RuleDecision(
        outcome != "refused", rule=rule, outcome=outcome, reason="" if outcome == "passed" else "limit", check=check
    )


def refused(**clients: int) -> Who:
    """Clients by how often each was refused, and nothing else."""
    named = {f"user:{name}": Counted(refused=times) for name, times in clients.items()}
    total = sum(clients.values())
    return Who(Counted(refused=total, met=total), Group(named))


def sent_who(ago: int, by_rule: Mapping[str, Who], process: str = "p1", now_s: float = NOW_S) -> None:
    """What a process sent of the minute `ago` minutes before now."""
    sums = {f"{process}|{rule}": Sums(refused=who.total.refused) for rule, who in by_rule.items()}
    minutes.send({NOW_MINUTE - ago: sums}, now_s, {NOW_MINUTE - ago: {f"{process}|{rule}": who for rule, who in by_rule.items()}})
