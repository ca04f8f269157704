"""Our pages in the admin, also where a host has registered every model in a loop before: its plain pages give way."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import admin
from django.db.models import Model

Page = TypeVar("Page", bound="type[admin.ModelAdmin[Any]]")


def register(model: type[Model]) -> Callable[[Page], Page]:
    """`django.contrib.admin.register`, whatever has been registered for this model by then."""

    def decorate(page: Page) -> Page:
        if admin.site.is_registered(model):
            admin.site.unregister(model)
        admin.site.register(model, page)
        return page

    return decorate
