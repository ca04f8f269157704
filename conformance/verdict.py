"""What a case says about a limiter: pass, fail with what was observed, or not applicable with the reason."""

from dataclasses import dataclass

PASS, FAIL, NOT_APPLICABLE = "pass", "fail", "n/a"


@dataclass(frozen=True)
class Verdict:
    word: str
    observed: str


class NotApplicable(Exception):
    """Raised by a case that finds nothing to judge, such as a header that is never sent."""


def judge(holds: bool, observed: str) -> Verdict:
    return Verdict(PASS if holds else FAIL, observed)
