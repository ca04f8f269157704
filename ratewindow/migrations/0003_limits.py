"""Limits from code, months and soft limits; rules that forgive a success, and penalties as text, which may be a list."""

from datetime import timedelta
from typing import Any

import ratewindow.models.fields
from django.db import migrations, models


MS = timedelta(milliseconds=1)
MOST_MS = 2**52


def to_text(apps: Any, schema_editor: Any) -> None:
    """Only raw SQL can have written what is no whole number of milliseconds, or too long to be counted."""
    rules = apps.get_model("ratewindow", "RateRule").objects.using(schema_editor.connection.alias)
    for rule in rules.filter(penalty__gte=MS):
        rules.filter(pk=rule.pk).update(penalty_text=min(rule.penalty // MS, MOST_MS) * MS)


def to_first_duration(apps: Any, schema_editor: Any) -> None:
    rules = apps.get_model("ratewindow", "RateRule").objects.using(schema_editor.connection.alias)
    for rule in rules.exclude(penalty_text=None):
        rules.filter(pk=rule.pk).update(penalty=rule.penalty_text.partition(";")[0])


class Migration(migrations.Migration):

    dependencies = [
        ('ratewindow', '0002_used'),
    ]

    operations = [
        migrations.AddField(
            model_name='raterule',
            name='limits_from',
            field=models.CharField(blank=True, help_text="A function of this site's code that says how much each client may do, such as by plan. The limits below hold where it gives none.", max_length=64, verbose_name='take limits from'),
        ),
        migrations.AddField(
            model_name='raterule',
            name='soft',
            field=models.BooleanField(default=False, help_text='Over the limit, requests pass and still count, and code of this site is told. Fixed windows only.', verbose_name='soft limit'),
        ),
        migrations.AlterField(
            model_name='rulewindow',
            name='aligned_to',
            field=models.CharField(blank=True, choices=[('minute', 'Minute'), ('hour', 'Hour'), ('day', 'Day'), ('week', 'Week'), ('month', 'Month')], help_text='Fixed windows only: begin with the clock instead of with the first request. A month is that of the calendar; its period is 30d.', max_length=8, verbose_name='aligned to'),
        ),
        migrations.AddField(
            model_name='raterule',
            name='forgive',
            field=models.BooleanField(default=False, help_text="A login that succeeds, or another successful request that does not count, deletes this client's counts. Only for rules that count per name: whoever has an account could delete the counts of an address by logging in.", verbose_name='forgive after success'),
        ),
        migrations.AddField(
            model_name='raterule',
            name='penalty_text',
            field=ratewindow.models.fields.PenaltyField(blank=True, help_text='How long a client that has exceeded the limit is refused, for example 15m, or longer each time: 1m; 5m; 1h within 1d. Leave empty for no penalty.', max_length=255, null=True, verbose_name='penalty'),
        ),
        migrations.RunPython(to_text, to_first_duration),
        migrations.RemoveField(model_name='raterule', name='penalty'),
        migrations.RenameField(model_name='raterule', old_name='penalty_text', new_name='penalty'),
        migrations.AlterField(
            model_name='override',
            name='source',
            field=models.CharField(default='code', editable=False, help_text='Where it was created: in the admin, by the API, by a command or by code.', max_length=32, verbose_name='source'),
        ),
    ]
