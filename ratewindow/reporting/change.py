"""How a number has changed against the period before, in words: ``+4 %``, ``×61``."""

from django.utils.formats import number_format
from django.utils.translation import gettext

from ratewindow.reporting.summary import number

MANY_TIMES = 2  # from here on it is a multiple, not a percentage


def change(now: int, before: int | None) -> str:
    """Empty if what was before is not known."""
    if before is None:
        return ""
    if not before:
        return gettext("none before") if now else gettext("as before")
    ratio = now / before
    if ratio >= MANY_TIMES:
        return f"×{number_format(round(ratio, 1), 1) if ratio < 10 and round(ratio, 1) % 1 else number(round(ratio))}"
    percent = round(100 * (ratio - 1))
    if not percent:
        return gettext("as before")
    return gettext("%s %%") % f"{'+' if percent > 0 else '−'}{abs(percent)}"
