"""The demo's visitors do what the demo's rules are about."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

import ratewindow
from ratewindow.models import RateRule
from testproject import traffic


@pytest.mark.django_db(transaction=True)
def test_the_password_thief_gets_as_far_as_a_wrong_password_and_is_refused_then() -> None:
    get_user_model().objects.create_superuser("admin", "admin@example.com", "admin")
    RateRule.objects.define("login", "5/m", path="/login/", methods="POST", count_when="login_failed", mode="enforce")
    client = Client(enforce_csrf_checks=True, headers=traffic.FORM)
    told = [
        client.post("/login/", traffic.WRONG_LOGIN, content_type=traffic.FORM["Content-Type"]).status_code
        for _, method, _ in traffic._requests()
        if method == "POST"
    ]
    assert told == [200] * 5 + [429] * 11
    assert not ratewindow.peek("login", "ip:127.0.0.1")
