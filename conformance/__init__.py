"""Forty cases about what a limiter for Django must do, and adapters that run them against seven limiters."""
