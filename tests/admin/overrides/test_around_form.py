"""What stands around the form of one block: its title, and the button that ends it."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Override
from tests.support.override_pages import UNDO, change, quick, text
from tests.support.rule_pages import said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


def history(block: Override) -> str:
    return reverse("admin:ratewindow_override_history", args=[block.pk])


def test_its_title_names_the_client_as_its_field_does(page: Client) -> None:
    block = Override.objects.block("ip:203.0.113.9", rule="login", duration="1h")
    viewer = staff("view_override")
    unmasked = text(page.get(change(block)))
    assert "<h2>block ip:203.0.113.9 (login)</h2>" in unmasked and "203.0.113.x" not in unmasked
    assert "History of block ip:203.0.113.9 (login)" in said(page.get(history(block)))
    masked = text(viewer.get(change(block)))
    assert "<h2>block ip:203.0.113.x (login)</h2>" in masked and "203.0.113.9" not in masked
    masked = text(viewer.get(history(block)))
    assert "History of block ip:203.0.113.x (login)" in masked and "203.0.113.9" not in masked


def test_its_button_ends_it_as_that_of_the_list_does_and_can_be_undone(page: Client) -> None:
    block = Override.objects.block("ip:203.0.113.9", duration="1h")
    (form,) = re.findall(
        rf'<form class="rw-inline-form" method="post" action="{quick("end", block)}">.*?</form>', text(page.get(change(block)))
    )
    assert "End now" in form and "csrfmiddlewaretoken" in form
    response = page.post(quick("end", block), follow=True)
    assert "Ended: ip:203.0.113.9." in said(response)
    assert "End now" not in said(page.get(change(block)))  # it has ended
    before = re.search(r'name="before" value="([^"]+)"', text(response))
    assert before
    page.post(UNDO, {"before": before[1]})
    assert "End now" in said(page.get(change(block)))


def test_what_is_still_to_come_can_be_ended_and_who_may_not_change_has_no_button(page: Client) -> None:
    waiting = Override.objects.block("ip:203.0.113.9", starts_at=timezone.now() + timedelta(days=1))
    assert "End now" in said(page.get(change(waiting)))
    assert "End now" not in said(staff("view_override", "view_identity").get(change(waiting)))
