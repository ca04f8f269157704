"""The pages of rules in the admin: their addresses, what a browser sends to them, and what they say."""

import re
import time
from typing import Any

from django.urls import reverse

from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule

LIST = reverse("admin:ratewindow_raterule_changelist")
ADD = reverse("admin:ratewindow_raterule_add")


def change(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_change", args=[rule.pk])


def look(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_look", args=[rule.pk])


def define(name: str = "login", rate: str = "5/m", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **fields)[0]


def typed(*limits: tuple[str, str], stored: RateRule | None = None, **fields: str) -> dict[str, str]:
    """What a browser sends for a rule with these limits, (limit, period); with the mode "enforce" for a new one the button of
    that name."""
    rows = list(stored.windows.all()) if stored else []
    if stored is None and fields.get("mode") == "enforce":
        fields = {**fields, "_enforce": "Save and enforce"}
    data = {
        "name": "login",
        "description": "",
        "applies_to": "path",
        "pattern": "/login/",
        "methods": "",
        "key": "ip",
        "on_missing": "ip",
        "cost": "1",
        "count_when": "always",
        "penalty": "",
        "response_status": "429",
        "enforce_percent": "100",
        "windows-TOTAL_FORMS": str(len(limits)),
        "windows-INITIAL_FORMS": str(len(rows)),
        **fields,
    }
    for number, (limit, period) in enumerate(limits):
        data |= {f"windows-{number}-limit": limit, f"windows-{number}-period": period}
        data |= {f"windows-{number}-algorithm": "sliding_window", f"windows-{number}-buckets": ""}
    for number, row in enumerate(rows):
        data |= {f"windows-{number}-id": str(row.pk), f"windows-{number}-rule": str(row.rule_id)}
    return data


def errors(response: Any) -> list[str]:
    """Every message that the page shows in red."""
    text = response.content.decode()
    found = re.findall(r'<ul class="errorlist[^>]*>(.*?)</ul>', text, re.DOTALL)
    return [
        re.sub(r"<[^>]+>", "", item).replace("&#x27;", "'").strip()
        for each in found
        for item in re.findall(r"<li>(.*?)</li>", each)
    ]


def said(response: Any) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def count(**sums: Sums) -> None:
    """What another process has counted within this minute."""
    now_s = time.time()
    minutes.send({int(now_s) // 60: {f"p|{rule}": each for rule, each in sums.items()}}, now_s)
