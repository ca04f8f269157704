"""Inputs that break other limiters: `items` lists all of them, each with the tests that show it; the tests here are those
that belong to no module alone.
"""
