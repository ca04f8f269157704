"""Links to Explain, with what is known filled in."""

from urllib.parse import urlencode

from ratewindow.admin.addresses import reverse
from ratewindow.identity import split
from ratewindow.identity.privacy import is_secret
from ratewindow.identity.typed_values import kind_and_name
from ratewindow.models import Override, RateRule
from ratewindow.overrides.subjects import Subject, parse_subject
from ratewindow.rules.rule import Rule

EXPLAIN = "admin:ratewindow_explain"


def url(**given: str) -> str:
    """The page with these values: `code`, or `method`, `path`, `address` and `user`."""
    values = {name: value for name, value in given.items() if value}
    return f"{reverse(EXPLAIN)}?{urlencode(values)}" if values else reverse(EXPLAIN)


def of_rule(rule: RateRule) -> str:
    """For a request that the rule meets, where its path says that."""
    if not (path := path_of(rule)):
        return url()
    return url(method=rule.methods.replace(",", " ").split()[0] if rule.methods.strip() else "", path=path)


def path_of(rule: RateRule | Rule) -> str:
    """A path that the rule meets; empty where it does not say one."""
    return rule.pattern if rule.applies_to in ("path", "prefix") else ""


def of_override(override: Override) -> str:
    """For the address or the user that it names; empty for any other subject."""
    try:
        subject = parse_subject(override.identity)
    except ValueError:  # an invalid row, which raw SQL has written
        return ""
    return of_subject(subject)


def of_subject(subject: Subject, method: str = "", path: str = "/") -> str:
    """For its address, user and fields of a form; empty for any other. Without a path the page asks for one."""
    if subject.hashed or subject.group or subject.everybody:
        return ""
    given, fields = {"address": "", "user": ""}, []
    for part in split(subject.text):
        kind, name, value = kind_and_name(part)
        if kind == "ip":
            given["address"] = value.partition("/")[0]
        elif kind == "user":
            given["user"] = part
        elif kind == "post" and not is_secret(kind, name):
            fields.append(f"{name}={value}")
        else:
            return ""
    return url(method=method, path=path, **given, fields_="\n".join(fields))
