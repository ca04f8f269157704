"""What a backtest has found, on its way through the browser: signed, so that it comes back as this site has sent it."""

from collections.abc import Mapping
from typing import Any

from django.core import signing
from django.http import HttpRequest

FIELD = "token"
_SENT_S = 86_400  # how long a result can be made a rule
_SALT = "ratewindow.backtest"


def sign(found: Mapping[str, Any]) -> str:
    return signing.dumps(found, salt=_SALT, compress=True)


def sent(request: HttpRequest, field: str = FIELD) -> dict[str, Any] | None:
    """What a form has sent; None if this site has not signed it within a day."""
    try:
        return signing.loads(request.POST.get(field, ""), salt=_SALT, max_age=_SENT_S)  # type: ignore[no-any-return]
    except signing.BadSignature:
        return None
