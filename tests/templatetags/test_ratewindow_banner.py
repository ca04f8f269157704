"""The template tag of the banner."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.messages.storage.base import Message
from django.template import Context, Template
from django.test import RequestFactory, override_settings

from ratewindow.admin.banner import OFF_TAG

BANNER = Template("{% load ratewindow_banner %}{% ratewindow_banner problems=False %}")
OFF = override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False})

pytestmark = pytest.mark.django_db


def shown(**context: object) -> str:
    made = Context(context)
    made.request = RequestFactory().get("/")  # type: ignore[attr-defined]
    made.request.user = User.objects.create_user("ann")  # type: ignore[attr-defined]
    return str(BANNER.render(made)).strip()


def test_while_limits_are_off_it_says_so() -> None:
    with OFF:
        assert "Limits are OFF" in shown()


def test_a_message_that_says_so_already_is_enough() -> None:
    with OFF:
        assert "Limits are OFF" not in shown(messages=[Message(20, "Limits are off.", OFF_TAG)])


def test_while_limits_are_on_and_without_a_request_there_is_none() -> None:
    assert shown() == BANNER.render(Context()).strip() == ""
