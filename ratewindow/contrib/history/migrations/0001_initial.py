import django.db.models.deletion
from django.db import migrations, models
from ratewindow.models.fields import dependency_on_users, user_field


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        *dependency_on_users(),
    ]

    operations = [
        migrations.CreateModel(
            name='Edit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True, verbose_name='time')),
                ('kind', models.CharField(choices=[('rule', 'Rule'), ('override', 'Block or exemption'), ('switch', 'Switch of all limits'), ('release', 'Release')], max_length=8, verbose_name='kind')),
                ('subject', models.CharField(blank=True, max_length=255, verbose_name='subject')),
                ('action', models.CharField(choices=[('added', 'Added'), ('changed', 'Changed'), ('deleted', 'Deleted'), ('released', 'Released')], max_length=8, verbose_name='action')),
                ('by', models.CharField(blank=True, max_length=150, verbose_name='person')),
                ('way', models.CharField(max_length=64, verbose_name='way')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('before', models.JSONField(blank=True, null=True, verbose_name='before')),
                ('after', models.JSONField(blank=True, null=True, verbose_name='after')),
                ('user', user_field('user_id')),
            ],
            options={
                'verbose_name': 'edit',
                'verbose_name_plural': 'history',
                'ordering': ['-at', '-pk'],
                'default_permissions': (),
                'indexes': [models.Index(fields=['kind', 'subject', 'at'], name='ratewindow_edit_subject'), models.Index(fields=['kind', 'at'], name='ratewindow_edit_kind'), models.Index(fields=['by', 'at'], name='ratewindow_edit_by')],
            },
        ),
    ]
