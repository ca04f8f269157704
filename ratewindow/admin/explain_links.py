"""Links to Explain, with what is known filled in."""

from urllib.parse import urlencode

from ratewindow.admin.addresses import reverse
from ratewindow.models import Override, RateRule
from ratewindow.overrides.subjects import Subject, parse_subject

EXPLAIN = "admin:ratewindow_explain"


def url(**given: str) -> str:
    """The page with these values: `code`, or `method`, `path`, `address` and `user`."""
    values = {name: value for name, value in given.items() if value}
    return f"{reverse(EXPLAIN)}?{urlencode(values)}" if values else reverse(EXPLAIN)


def of_rule(rule: RateRule) -> str:
    """For a request that the rule meets, where its path says that."""
    if rule.applies_to not in ("path", "prefix"):
        return url()
    return url(method=rule.methods.replace(",", " ").split()[0] if rule.methods.strip() else "", path=rule.pattern)


def of_override(override: Override) -> str:
    """For the address or the user that it names; empty for any other subject."""
    try:
        subject = parse_subject(override.identity)
    except ValueError:  # an invalid row, which raw SQL has written
        return ""
    return of_subject(subject)


def of_subject(subject: Subject) -> str:
    if subject.hashed:
        return ""
    if subject.network is not None:
        return url(path="/", address=subject.text.removeprefix("ip:").partition("/")[0])
    return url(path="/", user=subject.text) if subject.key == "user" else ""
