"""The rates that code gives, by name: what the decorators have registered while modules were imported."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CodeRate:
    """One use of a name in code. `rate` is None where code only names a rule."""

    name: str
    rate: str | None
    key: str
    place: str  # module and function, for people


_uses: dict[str, set[CodeRate]] = {}


def register(use: CodeRate) -> None:
    _uses.setdefault(use.name, set()).add(use)


def uses() -> dict[str, set[CodeRate]]:
    """Every use so far, by name."""
    return {name: set(each) for name, each in list(_uses.items())}


def has_rate(name: str) -> bool:
    """Whether code itself gives a rate under this name."""
    return any(use.rate is not None for use in tuple(_uses.get(name, ())))


def names() -> set[str]:
    """The names under which code gives a rate."""
    return {name for name, each in list(_uses.items()) if any(use.rate is not None for use in list(each))}
