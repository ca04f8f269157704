"""What is wrong is said before a rule is saved."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.models import RateRule
from tests.support.rule_pages import define, typed

pytestmark = pytest.mark.django_db

VALIDATE = reverse("admin:ratewindow_raterule_validate")


def test_each_error_comes_with_the_name_of_its_field_and_nothing_is_saved(page: Client) -> None:
    answer = page.post(VALIDATE, typed(("5", "1 month"), key="other", key_other="shoe_size", pattern="login", applies_to="path"))
    told = answer.json()["errors"]
    assert set(told) == {"key", "pattern", "windows-0-period"}
    assert told["windows-0-period"] == ["'1 month': 'month' has no fixed length: write 30d."]
    assert not RateRule.objects.exists()


def test_what_is_right_has_no_error(page: Client) -> None:
    assert page.post(VALIDATE, typed(("5", "1m"))).json() == {"errors": {}}
    assert not RateRule.objects.exists()


def test_a_saved_rule_is_looked_at_as_that_rule_and_stays_as_it_is(page: Client) -> None:
    rule = define(path="/login/")
    answer = page.post(f"{VALIDATE}?rule={rule.pk}", typed(("7", "1m"), stored=rule, pattern="/other/"))
    assert answer.json() == {"errors": {}}
    rule.refresh_from_db()
    assert (rule.pattern, rule.windows.get().limit) == ("/login/", 5)
    assert "already exists" in page.post(VALIDATE, typed(("7", "1m"))).json()["errors"]["name"][0]


@pytest.mark.parametrize("stored", ["x", "999", "9" * 30, "-1", "1;2"])
def test_a_rule_that_does_not_exist_is_a_new_one(page: Client, stored: str) -> None:
    assert page.post(VALIDATE + f"?rule={stored}", typed(("5", "1m"))).json() == {"errors": {}}


def test_it_takes_a_post_and_the_right_to_save(page: Client, client: Client) -> None:
    assert page.get(VALIDATE).status_code == 405
    for right, stored, status in (("view", False, 403), ("add", False, 200), ("add", True, 403), ("change", True, 200)):
        user = User.objects.create(username=f"{right}-{stored}", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=[f"{right}_raterule", f"{right}_rulewindow"]))
        client.force_login(user)
        rule = define()
        address = f"{VALIDATE}?rule={rule.pk}" if stored else VALIDATE
        assert client.post(address, typed(("5", "1m"), stored=rule if stored else None)).status_code == status


def test_code_is_imported_for_superusers_only(client: Client) -> None:
    user = User.objects.create(username="adder", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["add_raterule", "add_rulewindow"]))
    client.force_login(user)
    told = client.post(VALIDATE, typed(("5", "1m"), key="other", key_other="no.such.module")).json()["errors"]
    assert told["key"] == [
        "'no.such.module' is code, which only superusers may use as a key. A developer can register it with @ratekey."
    ]
