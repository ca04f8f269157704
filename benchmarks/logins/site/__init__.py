"""A site with eleven packages that ask for passwords, guarded as the environment says."""
