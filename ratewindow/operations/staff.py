"""The staff of a site: who of them may know of blocks and exemptions, and whom one reaches among them."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldError
from django.db.models import QuerySet
from django.http import HttpRequest

from ratewindow.models import Override
from ratewindow.overrides import Overrides, Ruling
from ratewindow.overrides.subjects import Subject, read_subject, users_in


def may_view_overrides(request: HttpRequest) -> bool:
    """Whether the user of this request may know that there is any block, exemption or other rate."""
    return any(request.user.has_perm(f"ratewindow.{verb}_override") for verb in ("view", "change"))


def others(request: HttpRequest) -> "QuerySet[Any]":
    """The staff that may log in, without the user of this request; none where the user model does not say who is staff."""
    users: QuerySet[Any] = get_user_model()._default_manager.all()
    author: Any = request.user
    try:
        return users.filter(is_staff=True, is_active=True).exclude(pk=author.pk)
    except FieldError:
        return users.none()


def reaching(request: HttpRequest, visits: Iterable[HttpRequest], entries: Iterable[tuple[Subject, Ruling]]) -> set[int]:
    """The rows, by primary key, whose subject contains the user of this request, in it or in one of `visits`."""

    def own_groups(names: Collection[str]) -> dict[str, tuple[str, ...]]:
        user: Any = request.user
        if not hasattr(user, "groups"):  # a custom user model without PermissionsMixin
            return {}
        return {f"user:{user.pk}": tuple(user.groups.filter(name__in=names).values_list("name", flat=True))}

    overrides = Overrides(entries, own_groups)
    return {ruling.pk for visit in (request, *visits) for ruling in overrides.of_request(visit)}


def reach_all_others(request: HttpRequest, subjects: Iterable[Subject]) -> bool:
    """Whether groups and users among these subjects contain all other staff, of whom there are some."""
    groups, users = [], list[str]()
    for subject in subjects:
        if subject.group:
            groups.append(subject.group)
        elif subject.key == "user":
            users += users_in(subject)
    found = others(request)
    if not (groups or users) or not found.exists():
        return False
    left = found.exclude(pk__in=users)
    with suppress(FieldError):  # a custom user model without groups
        left = left.exclude(groups__name__in=groups)
    return not left.exists()


def exempts_others(request: HttpRequest, pks: Iterable[int]) -> bool:
    """Whether these exemptions of the user of this request hold for all other staff, too, or there are none.

    A network or a property of the request is taken for one that colleagues share.
    """
    if not others(request).exists():
        return True
    subjects = [
        read_subject(text) for text in Override.objects.get_queryset().filter(pk__in=list(pks)).values_list("identity", flat=True)
    ]
    shared = any(not subject.group and "user" not in subject.key.split("+") for subject in subjects)
    return shared or reach_all_others(request, subjects)
