"""The page of the metrics names what is exported, and its dashboard and alert rules ask for that, by labels that it has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ratewindow.contrib.metrics import prometheus, totals, views
from ratewindow.counting.counters import counters
from tests.support.made_counts import decision

DOCS = Path(__file__).resolve().parents[3] / "docs" / "contrib"
FOLDER = DOCS / "prometheus"
BY_PROMETHEUS = {"job", "instance"}
DASHBOARD: dict[str, Any] = json.loads(FOLDER.joinpath("dashboard.json").read_text("utf-8"))
ALERTS = [
    rule for group in yaml.safe_load(FOLDER.joinpath("alerts.yaml").read_text("utf-8"))["groups"] for rule in group["rules"]
]


def queries() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]
    yield from (rule["expr"] for rule in ALERTS)


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """The labels of each name."""
    found: dict[str, set[str]] = {}
    counters.record([decision("login"), decision("login", "refused", "limit")])
    counters.flush()
    for family in text_string_to_metric_families(views.text()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_a_query_asks_for_what_is_exported(query: str, exported: dict[str, set[str]]) -> None:
    names = set(re.findall(r"\bratewindow_\w+", query))
    assert names and names <= exported.keys()
    labels = {label for name in names for label in exported[name]} | BY_PROMETHEUS
    asked = set(re.findall(r"(\w+)=~?\"", query))
    for listed in re.findall(r"\bby \(([^)]*)\)", query):
        asked |= {each.strip() for each in listed.split(",")}
    assert asked <= labels
    assert query.count("(") == query.count(")") and query.count("{") == query.count("}")


def test_every_metric_is_shown_but_the_numbers_that_others_contain(exported: dict[str, set[str]]) -> None:
    shown = set(re.findall(r"\bratewindow_\w+", " ".join(queries())))
    contained = {"ratewindow_within_limit_total", "ratewindow_other_rule_total", "ratewindow_rules"}
    assert exported.keys() - shown == contained | {"ratewindow_decision_seconds_count", "ratewindow_decision_seconds_sum"}


def test_no_query_adds_up_what_every_process_says() -> None:
    assert not [query for query in queries() if re.search(r"\bsum\s*(by \([^)]*\))?\s*\(\s*rate", query)]


def test_the_dashboard_is_as_grafana_loads_it() -> None:
    panels = DASHBOARD["panels"]
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] == "ratewindow" and DASHBOARD["title"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        assert {"id", "title", "type", "datasource", "gridPos", "targets", "fieldConfig", "options"} <= panel.keys()
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24
        taken |= cells
        assert [target["refId"] for target in panel["targets"]] == list("ABC"[: len(panel["targets"])])
    listed = DASHBOARD["templating"]["list"]
    assert all({"text", "value"} == each.get("current", {"text": "", "value": ""}).keys() for each in listed)
    assert not any("definition" in each for each in listed)  # which Grafana's schema does not know
    variables = {each["name"] for each in listed} | {"__rate_interval"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= variables


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_has_what_prometheus_asks_for(rule: dict[str, Any]) -> None:
    assert re.fullmatch(r"[A-Z]\w+", rule["alert"]) and re.fullmatch(r"\d+m", rule["for"])
    assert rule["labels"]["severity"] in ("warning", "critical") and rule["annotations"]["summary"]


def test_the_page_names_each_metric_with_its_labels() -> None:
    page = DOCS.joinpath("metrics.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", page, flags=re.MULTILINE)
    families = [*prometheus._of_totals(totals.Totals()), *prometheus._states([], is_up=True)]
    assert {name: {*re.findall(r"\w+", labels)} for name, labels in rows} == {
        f"{family.name}_total" if family.type == "counter" else family.name: {*family._labelnames} for family in families
    }
