"""The demo site, which is also what the tests run."""
