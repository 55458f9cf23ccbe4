"""``kgcheck export``: a manuscript as LaTeX, Word, HTML or PDF."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import note


@click.command("export")
@click.argument("file", type=FilePath(dir_okay=False))
@click.option(
    "--out",
    required=True,
    type=FilePath(dir_okay=False),
    help="Where to write: .tex, .pdf, .docx or .html tells the form.",
)
@click.option(
    "--references", type=FilePath(dir_okay=False), help="BibTeX, CSL JSON or RIS; its keys are cited as [@key]."
)
@click.option("--style", type=FilePath(dir_okay=False), help="A CSL style [default: author and year]")
def command(file: Path, out: Path, references: Path | None, style: Path | None) -> None:
    """Write FILE (Markdown) in another form, with its references set by a citation style.

    A PDF holds the figures that lie in FILE's folder. Raw LaTeX, HTML and Typst are shown as they stand, and not run.

    Exit codes: 0 written, 2 usage or a file that cannot be used.
    """
    from kgcheck.grounding.export import export

    for line in export(file, out, references, style):
        note(line)
    note(f"written to {out}")
