"""``kgcheck jobs``: the scheduler in the foreground."""

import click


@click.group("jobs")
def command() -> None:
    """Run jobs by their schedules."""
