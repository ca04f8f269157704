"""A site that leaves as `docs/leaving.md` says, in that order, keeps nothing of ratewindow."""

import json
from pathlib import Path

import pytest
import redis

from tests.databases.sites import Site

pytestmark = pytest.mark.slow


def test_a_site_that_leaves_keeps_nothing_but_the_file_of_its_rules(
    new_site: Site, redis_client: redis.Redis, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.json"
    new_site.run(
        """
        import ratewindow
        from django.contrib.auth.models import Permission
        from django.core.management import call_command
        from ratewindow.store.shared_prefix import announce_unless_tested
        from tests.databases.full_tables import fill
        call_command("migrate", verbosity=0)
        fill()
        assert Permission.objects.filter(content_type__app_label__startswith="ratewindow").exists()
        announce_unless_tested()
        assert ratewindow.hit("login", "ip:203.0.113.9")
        """
    )
    assert {key.split(":")[1] for key in redis_client.scan_iter()} >= {"s", "sites", "{minutes}", "token"}
    told = new_site.run(
        f"""
        from django.core.management import call_command
        from django.db import connection
        call_command("ratewindow", "export", {str(rules)!r})
        call_command("ratewindow", "clean", "--everything", "--no-input")
        for name in ("ratewindow_history", "ratewindow_alerts", "ratewindow"):
            call_command("migrate", name, "zero", verbosity=0)
        call_command("ratewindow", "clean", "--everything", "--no-input")
        assert not [name for name in connection.introspection.table_names() if name.startswith("ratewindow")]
        """
    )
    assert "keys of ratewindow under the prefix 'rw' deleted" in told
    assert not redis_client.keys()
    assert [rule["name"] for rule in json.loads(rules.read_text())["rules"]] == ["login"]
    new_site.run(
        """
        from django.contrib.auth.models import Permission
        from django.contrib.contenttypes.models import ContentType
        from django.core.management import call_command
        from django.db.migrations.recorder import MigrationRecorder
        call_command("remove_stale_contenttypes", include_stale_apps=True, interactive=False, verbosity=0)
        assert not ContentType.objects.filter(app_label__startswith="ratewindow").exists()
        assert not Permission.objects.filter(content_type__app_label__startswith="ratewindow").exists()
        assert not MigrationRecorder.Migration.objects.filter(app__startswith="ratewindow").exists()
        """,
        DJANGO_SETTINGS_MODULE="tests.databases.left",
    )
