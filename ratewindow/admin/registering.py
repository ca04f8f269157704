"""Registers the app's admin classes, also on a site whose code has registered every model in a loop before."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import admin
from django.db.models import Model

Page = TypeVar("Page", bound="type[admin.ModelAdmin[Any]]")


def register(model: type[Model]) -> Callable[[Page], Page]:
    """Like `django.contrib.admin.register`, but replaces a class that is registered already."""

    def decorate(page: Page) -> Page:
        if admin.site.is_registered(model):
            admin.site.unregister(model)
        admin.site.register(model, page)
        return page

    return decorate
