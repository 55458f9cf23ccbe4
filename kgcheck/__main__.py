"""``python -m kgcheck``."""

from kgcheck.cli.main import main

if __name__ == "__main__":
    main()
