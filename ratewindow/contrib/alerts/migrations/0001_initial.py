import django.core.validators
import ratewindow.contrib.alerts.models
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AlertChannel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('active', models.BooleanField(default=True, help_text='An inactive channel sends nothing but tests.', verbose_name='active')),
                ('way', models.CharField(choices=[('mail', 'by mail'), ('log', 'into the log'), ('webhook', 'by webhook'), ('signal', 'by a signal, to code of this site')], default='mail', max_length=8, verbose_name='way')),
                ('addresses', models.TextField(blank=True, help_text='One a line. Needed for alerts by mail.', max_length=2000, verbose_name='mail addresses')),
                ('url', models.CharField(blank=True, help_text='Needed for alerts by webhook. Internal addresses are refused, and redirects are not followed.', max_length=500, validators=[django.core.validators.URLValidator(['https', 'http'])], verbose_name='URL of the webhook')),
                ('secret', models.CharField(default=ratewindow.contrib.alerts.models.new_secret, help_text='Signs what is sent, so that the receiver can check it.', max_length=128, verbose_name='secret of the webhook')),
                ('everybody', models.BooleanField(default=True, help_text='It refuses nearly all requests, of many clients, and may be wrong.', verbose_name='a rule refuses nearly everybody')),
                ('refused_a_minute', models.PositiveIntegerField(blank=True, help_text='Alert when a rule refuses at least that many, on average over five minutes. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='refusals a minute')),
                ('unusual', models.BooleanField(default=True, help_text="As the report's first sentence judges it.", verbose_name='far more refusals than usual')),
                ('without_redis', models.BooleanField(default=True, verbose_name='decisions without Redis')),
                ('not_collected', models.BooleanField(default=True, help_text='Counts have waited for over an hour.', verbose_name='nobody collects')),
                ('unmatched', models.BooleanField(default=False, help_text='No request has matched an enforced rule for 30 days.', verbose_name='rules without requests')),
                ('ready', models.BooleanField(default=False, help_text='A rule in shadow had requests on each of the last 7 days, and would have refused at most 1 % of them.', verbose_name='rules that are ready to be enforced')),
                ('daily_report', models.BooleanField(default=False, help_text="Every morning from eight o'clock on. By mail alone.", verbose_name="yesterday's report")),
                ('reported', models.DateField(editable=False, help_text='The day that it was about.', null=True, verbose_name='last report')),
                ('raised', models.JSONField(default=dict, editable=False, verbose_name='raised')),
                ('revision', models.PositiveBigIntegerField(default=0, editable=False)),
                ('sent_at', models.DateTimeField(editable=False, null=True, verbose_name='last sent')),
                ('error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='error')),
            ],
            options={
                'verbose_name': 'alert channel',
                'verbose_name_plural': 'alert channels',
                'ordering': ['name'],
            },
        ),
    ]
