"""The index finds what trying every rule would find."""

from hypothesis import given
from hypothesis import strategies as st

from ratewindow.limiter.types import Window
from ratewindow.matching import Index
from ratewindow.rule import Rule

METHODS = ["GET", "HEAD", "POST", "PURGE"]
paths = st.lists(st.sampled_from(["a", "b", "ab", "é", ""]), max_size=4).map(lambda parts: "/" + "/".join(parts))
rules = st.builds(
    Rule,
    name=st.just("x"),
    windows=st.sampled_from([(), (Window(5, 60_000),)]),
    mode=st.sampled_from(["off", "shadow", "enforce"]),
    applies_to=st.sampled_from(["named", "all", "path", "prefix"]),
    pattern=paths,
    methods=st.frozensets(st.sampled_from(METHODS), max_size=2),
)


def meets(rule: Rule, method: str | None, path: str) -> bool:
    """The same said naively."""
    where = {"all": True, "path": path == rule.pattern, "prefix": path.startswith(rule.pattern), "named": False}
    asked = {method, "GET"} if method == "HEAD" else {method}
    return (
        rule.mode != "off" and bool(rule.windows) and where[rule.applies_to] and (not rule.methods or bool(rule.methods & asked))
    )


@given(st.lists(rules, max_size=20), st.sampled_from([*METHODS, "PUT", None]), paths)
def test_the_index_equals_a_loop_over_all_rules(some: list[Rule], method: str | None, path: str) -> None:
    numbered = [Rule(**{**vars(rule), "name": f"rule-{number}"}) for number, rule in enumerate(some)]
    found = [rule.name for rule in Index(numbered).match(method, path)]
    assert sorted(found) == sorted(rule.name for rule in numbered if meets(rule, method, path))


def rule(**fields: str) -> Rule:
    return Rule("rule", (Window(5, 60_000),), **fields)  # type: ignore[arg-type]


def test_a_path_is_one_path_and_a_prefix_is_how_it_starts() -> None:
    index = Index([rule(applies_to="path", pattern="/api/")])
    assert [bool(index.match("GET", path)) for path in ("/api/", "/api", "/api/x", "/API/")] == [True, False, False, False]
    index = Index([rule(applies_to="prefix", pattern="/api/")])
    assert [bool(index.match("GET", path)) for path in ("/api/", "/api", "/api/x", "/")] == [True, False, True, False]


def test_a_thousand_prefixes_of_one_length_are_one_look() -> None:
    index = Index([Rule(f"rule-{n}", (Window(5, 1000),), applies_to="prefix", pattern=f"/{n:04}/") for n in range(1000)])
    assert index._lengths == [6]
    assert [found.name for found in index.match("GET", "/0042/x")] == ["rule-42"]
