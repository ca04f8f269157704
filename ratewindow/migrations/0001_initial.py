import django.core.validators
import django.db.models.deletion
import ratewindow.conf.time_zone
import ratewindow.limiter.algorithms
import ratewindow.models.fields
import ratewindow.models.rules
from django.db import migrations, models
from ratewindow.models.fields import dependency_on_users, user_field


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        *dependency_on_users(),
    ]

    operations = [
        migrations.CreateModel(
            name='LimitSwitch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('off', models.BooleanField(default=False, verbose_name='off')),
                ('until', models.DateTimeField(blank=True, null=True, verbose_name='until')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('changed_by', models.CharField(blank=True, max_length=150, verbose_name='changed by')),
                ('changed_at', models.DateTimeField(verbose_name='changed at')),
            ],
            options={
                'verbose_name': 'switch of all limits',
                'verbose_name_plural': 'switch of all limits',
                'permissions': [('switch_limits', 'Can switch all limits off and on')],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RateRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Clients see this name in headers. It cannot be changed after the first save.', max_length=64, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9._-]{0,63}\\Z', 'This is not a rule name: use at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit.')], verbose_name='name')),
                ('description', models.TextField(blank=True, help_text='A note for your colleagues: why this rule exists.', verbose_name='description')),
                ('mode', models.CharField(choices=[('shadow', 'Shadow: counts, refuses nobody'), ('enforce', 'Enforce'), ('off', 'Off')], default='shadow', max_length=8, verbose_name='mode')),
                ('enforce_percent', models.PositiveSmallIntegerField(default=100, help_text='The percentage of clients for whom the rule is enforced, always the same ones. For the others it stays in shadow.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='enforce percent')),
                ('mode_since', models.DateTimeField(default=ratewindow.conf.time_zone.now, editable=False)),
                ('applies_to', models.CharField(choices=ratewindow.models.rules.applies_to_choices, default='named', max_length=8, verbose_name='applies to')),
                ('pattern', models.CharField(blank=True, help_text='A path such as /login/, the beginning of paths such as /api/, a regular expression, or the name of a URL or of a namespace.', max_length=255, verbose_name='pattern')),
                ('methods', models.CharField(blank=True, help_text='For example POST or GET,HEAD. Leave empty for all methods.', max_length=100, verbose_name='methods')),
                ('key', models.CharField(default='ip', help_text='What identifies a client: ip, user, user_or_ip, global, header:NAME, or several joined by +.', max_length=255, verbose_name='count per')),
                ('on_missing', models.CharField(choices=[('ip', 'Count by address'), ('allow', 'Let pass uncounted'), ('refuse', 'Refuse')], default='ip', help_text='What happens to a request that has no such user or header.', max_length=8, verbose_name='if that is missing')),
                ('normalise', models.BooleanField(default=False, help_text='Treat values as the same if they differ only in case, blanks or Unicode form.', verbose_name='ignore case and blanks')),
                ('cost', models.PositiveIntegerField(default=1, help_text='How many units each request uses. With 0 the limit is checked and nothing is counted.', validators=[django.core.validators.MaxValueValidator(1000000)], verbose_name='cost')),
                ('count_when', models.CharField(default='always', help_text='Which requests count: always, login_failed, or statuses of the response such as 401,403,5xx. The limit is checked before the view, and the request is counted after it.', max_length=64, verbose_name='count when')),
                ('hold', models.BooleanField(default=False, help_text='Count each request before the view, and take that back if its response does not count. So the limit stays exact when many requests arrive at the same moment; otherwise those may all pass.', verbose_name='charge first, refund after')),
                ('count_refused', models.BooleanField(default=False, help_text='A client that keeps trying stays refused, until it has sent nothing for a whole period.', verbose_name='count refused requests too')),
                ('penalty', ratewindow.models.fields.PeriodField(blank=True, help_text='How long a client that has exceeded the limit is refused, for example 15m. Leave empty for no penalty.', null=True, verbose_name='penalty')),
                ('on_error', models.CharField(blank=True, choices=[('', 'As in the setting ON_ERROR'), ('allow', 'Let pass uncounted'), ('refuse', 'Refuse, with 503'), ('local', 'Count in each process, with its share of the limit')], default='', max_length=8, verbose_name='while Redis is unavailable')),
                ('response_status', models.PositiveSmallIntegerField(default=429, help_text='The HTTP status of a refusal. 429 tells clients to slow down.', validators=[django.core.validators.MinValueValidator(400), django.core.validators.MaxValueValidator(599)], verbose_name='response status')),
                ('message', models.CharField(blank=True, help_text='What a refused client reads. Leave empty for the default sentence.', max_length=300, verbose_name='message')),
            ],
            options={
                'verbose_name': 'rule',
                'verbose_name_plural': 'rules',
                'ordering': ['name'],
                'permissions': [('enforce_raterule', 'Can enforce rules')],
            },
            managers=[
                ('objects', ratewindow.models.rules.RateRuleManager()),
            ],
        ),
        migrations.CreateModel(
            name='OffenderStat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=64, verbose_name='rule')),
                ('resolution', models.CharField(choices=[('minute', 'Minute'), ('hour', 'Hour'), ('day', 'Day')], max_length=8, verbose_name='resolution')),
                ('start', models.DateTimeField(verbose_name='start')),
                ('kind', models.CharField(choices=[('all', 'All'), ('client', 'Client'), ('network', 'Network')], max_length=8, verbose_name='kind')),
                ('value', ratewindow.models.fields.ExactField(blank=True, help_text='An identity as ANONYMIZE says it is stored, or a network.', max_length=255, verbose_name='value')),
                ('refused', models.PositiveBigIntegerField(default=0, verbose_name='refused')),
                ('would_refuse', models.PositiveBigIntegerField(default=0, verbose_name='would refuse')),
                ('met', models.PositiveBigIntegerField(default=0, help_text='Of all: how many matched the rule.', verbose_name='requests')),
                ('distinct', models.JSONField(default=dict, help_text='Of all: from which the number of different clients is estimated.', verbose_name='distinct')),
            ],
            options={
                'verbose_name': 'offender',
                'verbose_name_plural': 'offenders',
                'default_permissions': (),
                'indexes': [models.Index(fields=['rule', 'resolution', 'start'], name='ratewindow_offender_of_rule')],
                'constraints': [models.UniqueConstraint(fields=('resolution', 'start', 'rule', 'kind', 'value'), name='ratewindow_one_offender_per_start')],
            },
        ),
        migrations.CreateModel(
            name='ThrottleStat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(help_text='The name of the rule. Its history remains when the rule is deleted.', max_length=64, verbose_name='rule')),
                ('resolution', models.CharField(choices=[('minute', 'Minute'), ('hour', 'Hour'), ('day', 'Day')], max_length=8, verbose_name='resolution')),
                ('start', models.DateTimeField(verbose_name='start')),
                ('passed', models.PositiveBigIntegerField(default=0, verbose_name='passed')),
                ('refused', models.PositiveBigIntegerField(default=0, verbose_name='refused')),
                ('other', models.PositiveBigIntegerField(default=0, verbose_name='refused by another rule')),
                ('would_refuse', models.PositiveBigIntegerField(default=0, help_text='Passed in shadow, but would have been refused if the rule were enforced.', verbose_name='would refuse')),
                ('fallback', models.PositiveBigIntegerField(default=0, help_text='Passed or refused without being counted in Redis.', verbose_name='decided without Redis')),
                ('near', models.PositiveBigIntegerField(default=0, help_text='Passed, with over 80 % of a limit used.', verbose_name='near a limit')),
                ('reasons', models.JSONField(default=dict, help_text='Refusals and decisions without Redis, by reason.', verbose_name='reasons')),
                ('latency', models.JSONField(default=dict, help_text='How long decisions took: counts by upper bounds in milliseconds.', verbose_name='latency')),
            ],
            options={
                'verbose_name': 'report',
                'verbose_name_plural': 'report',
                'permissions': [('export_throttlestat', 'Can export rules and reports')],
                'indexes': [models.Index(fields=['rule', 'resolution', 'start'], name='ratewindow_stat_of_rule')],
                'constraints': [models.UniqueConstraint(fields=('resolution', 'start', 'rule'), name='ratewindow_one_stat_per_start')],
            },
        ),
        migrations.CreateModel(
            name='Override',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('block', 'Block: refuse requests'), ('allow', 'Exempt: do not limit'), ('rate', 'Another rate')], max_length=8, verbose_name='action')),
                ('rule', models.CharField(blank=True, help_text='The name of the rule for which it holds. Leave empty for all rules.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9._-]{0,63}\\Z', 'This is not a rule name: use at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit.')], verbose_name='rule')),
                ('identity', ratewindow.models.fields.SubjectField(help_text='For example ip:203.0.113.0/24, user:42, group:staff or header:x-api-key:VALUE; * means everybody.', max_length=255, verbose_name='who')),
                ('rate', models.CharField(blank=True, help_text='Only for another rate, for example 100/m or 5/s; 1000/h.', max_length=100, verbose_name='rate')),
                ('starts_at', models.DateTimeField(blank=True, help_text='Leave empty to begin now.', null=True, verbose_name='from')),
                ('expires_at', models.DateTimeField(blank=True, help_text='Leave empty for no end.', null=True, verbose_name='until')),
                ('reason', models.CharField(blank=True, help_text='Why, for your colleagues.', max_length=200, verbose_name='reason')),
                ('source', models.CharField(default='code', editable=False, help_text='Where it was created: in the admin, by a command or by code.', max_length=32, verbose_name='source')),
                ('created_at', models.DateTimeField(default=ratewindow.conf.time_zone.now, editable=False, verbose_name='created at')),
                ('created_by', user_field('created_by_id', editable=False)),
            ],
            options={
                'verbose_name': 'block or exemption',
                'verbose_name_plural': 'blocks and exemptions',
                'ordering': ['-pk'],
                'permissions': [('view_identity', 'Can see identities unmasked'), ('release_identity', 'Can release clients')],
                'indexes': [models.Index(fields=['expires_at', 'id', 'starts_at'], name='ratewindow_override_expires'), models.Index(fields=['starts_at', 'id', 'expires_at'], name='ratewindow_override_starts'), models.Index(fields=['rule', 'expires_at'], name='ratewindow_override_rule'), models.Index(fields=['identity'], name='ratewindow_override_identity', opclasses=['varchar_pattern_ops'])],
            },
        ),
        migrations.CreateModel(
            name='RuleWindow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('limit', models.PositiveBigIntegerField(help_text='How many requests are allowed in a period. 0 refuses all.', verbose_name='limit')),
                ('period', ratewindow.models.fields.PeriodField(verbose_name='period')),
                ('algorithm', models.CharField(choices=ratewindow.limiter.algorithms.algorithm_choices, default='sliding_window', max_length=32, verbose_name='algorithm')),
                ('buckets', models.PositiveIntegerField(blank=True, help_text='Sliding window only: how many parts a period is divided into. Leave empty for the default.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='buckets')),
                ('burst', models.PositiveIntegerField(blank=True, help_text='Token bucket and leaky bucket only: how many requests may come at once. Leave empty for the default.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='burst')),
                ('aligned_to', models.CharField(blank=True, choices=[('minute', 'Minute'), ('hour', 'Hour'), ('day', 'Day'), ('week', 'Week')], help_text='Fixed windows only: begin with the clock instead of with the first request.', max_length=8, verbose_name='aligned to')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='windows', to='ratewindow.raterule')),
            ],
            options={
                'verbose_name': 'limit',
                'verbose_name_plural': 'limits',
                'ordering': ['rule', 'period'],
                'constraints': [models.UniqueConstraint(fields=('rule', 'period', 'algorithm'), name='ratewindow_one_limit_per_period', violation_error_message='This rule already has a limit for this period: change that one instead.')],
            },
        ),
    ]
