"""Attacks on the logins of a site with eleven packages that ask for passwords: behind four guards, and on real servers."""
