"""The way to Redis: which server the setting means, and this process's clients of it."""

from ratewindow.connection.process import PATIENT_S, aclose, async_client, client, close, in_memory, masters, patient_client

__all__ = ["PATIENT_S", "aclose", "async_client", "client", "close", "in_memory", "masters", "patient_client"]
