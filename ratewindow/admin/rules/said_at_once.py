"""What is wrong with a rule as it stands in the form, before it is saved."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse

from ratewindow.models import RateRule


def answer(page: Any, request: HttpRequest) -> HttpResponse:
    """The errors of each field of the form that is posted, by the field's name; `page` is the admin of rules. Saves nothing."""
    stored = request.GET.get("rule", "")
    rule = RateRule.objects.filter(pk=stored).first() if stored.isdecimal() and len(stored) < 19 else None
    if not (page.has_add_permission(request) if rule is None else page.has_change_permission(request, rule)):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = page.get_form(request, rule, change=rule is not None)(request.POST, instance=rule)
    formsets, _ = page._create_formsets(request, form.instance, change=rule is not None)
    rows = [row for formset in formsets if formset.is_bound for row in formset.forms]
    errors = {each.add_prefix(name): list(told) for each in [form, *rows] for name, told in each.errors.items()}
    return JsonResponse({"errors": errors})
