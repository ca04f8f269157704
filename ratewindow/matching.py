"""Which rules a request meets: looked up by path, not tried one after the other."""

from collections.abc import Iterable

from ratewindow.rule import Rule


class Index:
    """The rules that apply by path, arranged so that a thousand cost little more than ten."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._everywhere: tuple[Rule, ...] = ()
        self._by_path: dict[str, tuple[Rule, ...]] = {}
        self._by_prefix: dict[str, tuple[Rule, ...]] = {}
        for rule in rules:
            if rule.mode == "off" or not rule.windows:
                continue
            if rule.applies_to == "all":
                self._everywhere += (rule,)
            elif rule.applies_to == "path":
                self._by_path[rule.pattern] = (*self._by_path.get(rule.pattern, ()), rule)
            elif rule.applies_to == "prefix":
                self._by_prefix[rule.pattern] = (*self._by_prefix.get(rule.pattern, ()), rule)
        # One look for each length that some prefix has, however many prefixes share it.
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def match(self, method: str | None, path: str) -> list[Rule]:
        """Every rule for this method and path, in no order that matters: all of them apply."""
        found = [*self._everywhere, *self._by_path.get(path, ())]
        for length in self._lengths:
            if length > len(path):
                break
            found += self._by_prefix.get(path[:length], ())
        return [rule for rule in found if rule.meets_method(method)]
