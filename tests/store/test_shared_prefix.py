"""Sites that share a prefix by mistake see one another."""

import pytest
from django.test import override_settings

from ratewindow import conf
from ratewindow.store import shared_prefix, state_keys
from ratewindow.store.shared_prefix import SharedPrefix, announce_site, refuse_when_shared
from tests.support.made_counts import NOW_S

pytestmark = pytest.mark.django_db


def test_a_site_that_was_not_seen_for_a_day_is_forgotten(settings):
    with override_settings(SECRET_KEY="of another site"):
        announce_site(NOW_S)
    with pytest.raises(SharedPrefix):
        refuse_when_shared(NOW_S + shared_prefix.REMEMBERED_S - 1)
    refuse_when_shared(NOW_S + shared_prefix.REMEMBERED_S)


def test_while_tests_run_on_a_database_of_their_own_no_second_site_is_announced(redis_client, monkeypatch):
    shared_prefix.announce_unless_tested()
    assert not redis_client.exists(state_keys.sites())
    monkeypatch.setattr(conf, "tests_run", lambda: False)
    shared_prefix.announce_unless_tested()
    assert redis_client.exists(state_keys.sites())
