"""What is wrong with a rule as it stands in the form, before it is saved."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse

from ratewindow.models import RateRule


def answer(page: Any, request: HttpRequest) -> HttpResponse:
    """The errors of each field of the form that is posted, by the field's name, and of its limits together. Saves nothing.

    `page` is the admin of rules.
    """
    stored = request.GET.get("rule", "")
    rule = RateRule.objects.filter(pk=stored).first() if stored.isdecimal() and len(stored) < 19 else None
    if not (page.has_add_permission(request) if rule is None else page.has_change_permission(request, rule)):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = page.get_form(request, rule, change=rule is not None)(request.POST, instance=rule)
    formsets, _ = page._create_formsets(request, form.instance, change=rule is not None)
    bound = [formset for formset in formsets if formset.is_bound]
    rows = [row for formset in bound for row in formset.forms]
    errors = {each.add_prefix(name): list(told) for each in [form, *rows] for name, told in each.errors.items()}
    errors |= {formset.prefix: list(told) for formset in bound if (told := formset.non_form_errors())}
    return JsonResponse({"errors": errors})
