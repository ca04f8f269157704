"""One case: what it is about, what it needs, and the function that judges a running site."""

from collections.abc import Callable
from dataclasses import dataclass

from conformance.running import Site
from conformance.verdict import Verdict


@dataclass(frozen=True)
class Case:
    id: str
    group: str
    sentence: str
    run: Callable[[Site], Verdict]
    needs: tuple[str, ...] = ()  # capabilities of the adapter
    kind: str = "plain"  # of the site
    alone: bool = False  # on a site of its own, since it leaves the store or the breaker in another state


class Group(list[Case]):
    """The cases of one group, in the order in which they are written."""

    def __init__(self, name: str, *needs: str, kind: str = "plain", alone: bool = False) -> None:
        super().__init__()
        self.name, self.needs, self.kind, self.alone = name, needs, kind, alone

    def case(self, slug: str, sentence: str, *needs: str, kind: str = "") -> Callable[[Callable[[Site], Verdict]], None]:
        def decorator(run: Callable[[Site], Verdict]) -> None:
            self.append(
                Case(
                    f"{self.name}.{slug}".replace(" ", "-"),
                    self.name,
                    sentence,
                    run,
                    (*self.needs, *needs),
                    kind or self.kind,
                    self.alone,
                )
            )

        return decorator
