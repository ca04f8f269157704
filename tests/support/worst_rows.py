"""The worst strings as rows: in every field that a colleague, a client or another program can write."""

from datetime import timedelta
from itertools import cycle

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.utils import timezone

from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule, RuleWindow, ThrottleStat
from tests.support.worst_strings import WORST


def storable(text: str) -> str:
    """The text as a form would send it, without what the database cannot hold."""
    sent = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return sent.replace("\x00", "") if connection.vendor == "postgresql" else sent


STORED = list(dict.fromkeys(storable(text) for text in WORST))


def write(user: User, texts: list[str]) -> None:
    """A rule, a block, a channel of alerts, a day of counts and two entries of the history for each text, past all checks."""
    now = timezone.now().replace(second=0, microsecond=0)
    kinds = cycle(("path", "prefix", "regex", "route", "named", "all"))
    rules = RateRule.objects.bulk_create(
        RateRule(
            name=f"w-{number}",
            description=text,
            message=text[:300],
            pattern=text[:255],
            methods=text[:100],
            key=f"header:{text}"[:255],
            count_when=text[:64],
            applies_to=kind,
        )
        for (number, text), kind in zip(enumerate(texts), kinds, strict=False)
    )
    RuleWindow.objects.bulk_create(RuleWindow(rule=rule, limit=5, period=timedelta(minutes=1)) for rule in rules)
    blocks = Override.objects.bulk_create(
        Override(
            action="block",
            identity=f"header:x-client:{text}"[:255],
            reason=text[:200],
            source=text[:32],
            created_by=user,
            expires_at=now + timedelta(hours=1),
        )
        for text in texts
    )
    ThrottleStat.objects.bulk_create(
        (
            ThrottleStat(
                rule=rule, resolution="minute", start=now - timedelta(minutes=3), passed=5, refused=9, reasons={text[:60]: 9}
            )
            for rule, text in {text[:64]: text for text in texts}.items()
        ),
    )
    AlertChannel.objects.bulk_create(
        AlertChannel(
            name=f"{number} {text}"[:100],
            addresses=text[:2000],
            url=text[:500],
            error=text[:500],
            raised={f"unusual:w-{number}": {"since": now.isoformat(), "text": text}},
        )
        for number, text in enumerate(texts)
    )
    for rows, of_model in ((rules, RateRule), (blocks, Override)):
        content = ContentType.objects.get_for_model(of_model)
        LogEntry.objects.bulk_create(
            LogEntry(
                user=user,
                content_type=content,
                object_id=str(row.pk),
                object_repr=text[:200],
                action_flag=CHANGE,
                change_message=text,
            )
            for row, text in zip(rows, texts, strict=True)
        )
    Edit.objects.bulk_create(
        Edit(
            at=now - timedelta(seconds=number),
            kind="rule",
            subject=f"w-{number}",
            action="changed",
            user=user,
            by=text[:60],
            way="admin",
            reason=text[:150],
            before={"name": f"w-{number}", "description": "before", "limits": []},
            after={"name": f"w-{number}", "description": text, "message": text[:300], "limits": []},
        )
        for number, text in enumerate(texts)
    )
