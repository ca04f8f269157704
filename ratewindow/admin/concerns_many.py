"""Whether a block or an exemption may concern nearly all visitors: saving it takes the permission to switch all limits off."""

from ratewindow.identity import canonical
from ratewindow.models import Mode, RateRule
from ratewindow.overrides.subjects import parse_subject, sent_unasked
from ratewindow.rules import code_rates


def concerns_many(identity: str) -> bool:
    """Whether it is for everybody, or for who sends a header, cookie or claim by which no enforced rule tells clients apart."""
    try:
        subject = parse_subject(identity)
    except ValueError:  # an invalid identity, which applies to nobody
        return False
    fields = subject.maybe_of_all
    return subject.meets_everybody or (bool(fields) and fields not in _counted_by())


def _counted_by() -> set[frozenset[str]]:
    """The headers, cookies and claims in the key of each rule that is enforced or in code. Of a rule by two of them neither
    identifies a client alone."""
    keys = {use.key for uses in code_rates.uses().values() for use in uses if use.rate is not None}
    keys.update(RateRule.objects.filter(mode=Mode.ENFORCE, windows__isnull=False).values_list("key", flat=True))
    return {frozenset(filter(sent_unasked, canonical(key).split("+"))) for key in keys}
