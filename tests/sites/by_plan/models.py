"""Where each site keeps how much a customer may do: a tier, a column of an organisation, of a token, of a user."""

from django.db import models

# ruff: noqa: DJ008


class Membership(models.Model):
    """As of a legal archive: a tier, whose rate the code knows."""

    user = models.IntegerField(primary_key=True)
    tier = models.CharField(max_length=20)


class Org(models.Model):
    """As of a messaging platform: rates by the scope of an endpoint, as JSON."""

    slug = models.CharField(max_length=40, primary_key=True)
    api_rates = models.JSONField(default=dict)


class Token(models.Model):
    """As of a project manager: a rate as text."""

    token = models.CharField(max_length=40, primary_key=True)
    allowed_rate_limit = models.CharField(max_length=40, default="")


class Person(models.Model):
    """As of a chat server: pairs of seconds and requests, ``3600:5,86400:9``; empty for the usual ones."""

    number = models.IntegerField(primary_key=True)
    rate_limits = models.CharField(max_length=100, default="")
