"""Alerts: what they are about, whether it is new or over, and how it is sent."""
