"""``python -m benchmarks``: all measurements."""

from benchmarks.main_job import main

main()
