"""Entry point of ``python -m kgcheck``, the command line."""

from kgcheck.cli.main import main

if __name__ == "__main__":
    main()
