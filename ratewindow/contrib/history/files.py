"""Rules as files of JSON or YAML, for the commands and the admin: ``{"ratewindow": 1, "rules": [...]}``. The same rules
always give the same bytes.
"""

import json
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext

from ratewindow.conf.in_words import in_escapes
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.values import InvalidValues, Values, of_rule, rule_of
from ratewindow.models import RateRule

VERSION = 1
JSON, YAML = "json", "yaml"


def write(rules: Iterable[RateRule], syntax: str = JSON) -> bytes:
    """These rules as a file. Raises InvalidValues if YAML cannot be written here."""
    document = {"ratewindow": VERSION, "rules": [of_rule(rule) for rule in sorted(rules, key=lambda rule: rule.name)]}
    if syntax == YAML:
        return str(_yaml_text().write(document)).encode()
    return (in_escapes(json.dumps(document, ensure_ascii=False, indent=2)) + "\n").encode()


def read(data: bytes) -> list[Any]:
    """The values of the rules in a file, which are not checked yet. Raises InvalidValues."""
    try:
        text = data.decode("utf-8-sig")
        document = json.loads(text) if text.lstrip().startswith("{") else _yaml_text().read(text)
        json.dumps(document, ensure_ascii=False).encode()  # an escape may be half a character, which cannot be stored
    except InvalidValues:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidValues([gettext("This cannot be read: %s.") % str(error).rstrip(".")]) from None
    if not isinstance(document, dict) or document.get("ratewindow") != VERSION or len(document) > 2:
        raise InvalidValues([gettext("This is no file of rules: it begins with ratewindow: %d, then rules: follow.") % VERSION])
    rules = document.get("rules")
    if not isinstance(rules, list):
        raise InvalidValues([gettext("rules: write a list such as [{name: login, limits: [{limit: 5, period: 1m}]}].")])
    return rules


def changes(rules: list[Any], exact: bool = False) -> list[Edit]:
    """What adds and changes these rules; if `exact`, also deletes all others. Raises InvalidValues."""
    before = {rule.name: of_rule(rule) for rule in RateRule.objects.prefetch_related("windows")}
    after, problems = dict[str, Values](), list[str]()
    for index, written in enumerate(rules):
        name = written.get("name") if isinstance(written, dict) else None
        place = f"rules[{index}]" + (f' "{name[:64]}"' if isinstance(name, str) else "")
        try:
            rule, windows = rule_of(written, place)
        except InvalidValues as error:
            problems += error.problems
        else:
            if rule.name in after:
                problems.append(gettext("%s: this name occurs twice: keep one of them.") % place)
            after[rule.name] = of_rule(rule, windows)
    if problems:
        raise InvalidValues(problems)
    differing = [name for name in (before | after if exact else after) if before.get(name) != after.get(name)]
    return [Edit.of(Edit.Kind.RULE, name, before.get(name), after.get(name)) for name in sorted(differing)]


def _yaml_text() -> Any:
    try:
        from ratewindow.contrib.history import yaml_text
    except ImportError:
        command = "pip install 'ratewindow[yaml]'"
        raise InvalidValues([gettext("YAML needs PyYAML, which is not installed: run %s, or use JSON.") % command]) from None
    return yaml_text
