#!/usr/bin/env python
"""Django's command line for the test project, which is also the demo site."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    from django.core.management import execute_from_command_line

    from testproject import running_demo

    os.environ.update(running_demo.environment())
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
