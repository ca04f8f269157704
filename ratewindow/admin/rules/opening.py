"""What the form of a new rule begins with: nothing, a ready rule, a rate in code, or a copy of a rule as it was typed."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest

from ratewindow.admin.rules import code_rates
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import MOST_WINDOWS
from ratewindow.models import Mode
from ratewindow.operations import presets

_LIMIT_FIELDS = ("limit", "period", "algorithm", "buckets", "burst", "aligned_to")


@dataclass(frozen=True)
class Opening:
    fields: Mapping[str, Any] = field(default_factory=dict)
    limits: Sequence[dict[str, Any]] = ()


def of(request: HttpRequest) -> Opening:
    """The opening for this request, which may be one that `copying` has returned."""
    if not hasattr(request, "_ratewindow_opening"):
        request._ratewindow_opening = _asked_for(request)  # type: ignore[attr-defined]
    return request._ratewindow_opening  # type: ignore[attr-defined,no-any-return]


def is_blank(request: HttpRequest) -> bool:
    """Whether the form of a new rule begins with nothing, and nothing has been sent yet."""
    return request.method == "GET" and not (of(request).fields or of(request).limits)


def _asked_for(request: HttpRequest) -> Opening:
    ready = presets.preset(request.GET["ready"]) if request.method == "GET" and "ready" in request.GET else None
    if ready is None:
        return Opening(limits=code_rates.initial_windows(request))
    return Opening({**ready.fields, "name": ready.name}, [code_rates.initial(each) for each in parse_rates(ready.rate)])


def copying(request: HttpRequest, form: Any) -> HttpRequest:
    """A request that opens the form of a new rule with what this one has typed into `form`, in shadow and without a name."""
    opened: Any = copy(request)
    opened.method = "GET"
    typed = {name: form[name].value() for name in form.fields}
    opened._ratewindow_opening = Opening({**typed, "name": "", "why": "", "mode": Mode.SHADOW}, _typed_limits(request.POST))
    return opened  # type: ignore[no-any-return]


def _typed_limits(data: Any) -> list[dict[str, Any]]:
    prefixes = [f"windows-{number}-" for number in range(MOST_WINDOWS) if f"windows-{number}-DELETE" not in data]
    limits = [{name: data[prefix + name] for name in _LIMIT_FIELDS if data.get(prefix + name)} for prefix in prefixes]
    return [limit for limit in limits if "limit" in limit or "period" in limit]
