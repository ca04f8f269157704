"""Explain in the admin: what the limits make of a request, or what a code of a refusal was about."""
