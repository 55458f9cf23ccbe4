"""``python -m kgcheck``."""

from kgcheck.cli.main import main

main()
