"""What a new rule does from now on, in shadow or enforced, and what to do next."""

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.rights import may_enforce
from ratewindow.models import Mode, RateRule


def from_now_on(request: HttpRequest, rule: RateRule) -> SafeString:
    """``It is in shadow: it counts, and refuses nobody. …``, with a link to the box that enforces it or takes it back."""
    page = reverse("admin:ratewindow_raterule_change", args=[rule.pk])
    if rule.mode == Mode.ENFORCE:
        text = gettext(
            "It is enforced from now on: clients above its limits are refused. "
            '<a href="{}">Its page</a> shows what it refuses, and takes it back to shadow.'
        )
    elif may_enforce(request):
        text = gettext(
            "It is in shadow: it counts, and refuses nobody. Once requests have met it, look at "
            '<a href="{}">what it would have refused</a>, and enforce it there.'
        )
    else:
        text = gettext(
            "It is in shadow: it counts, and refuses nobody. Once requests have met it, look at "
            '<a href="{}">what it would have refused</a>, and ask somebody who may enforce rules.'
        )
    return format_html(text, page)
