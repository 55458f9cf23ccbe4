"""Recognition of forms by the beginning of a file, however it was made."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgcheck.forms.form import GraphForm, RefusedForm
from kgcheck.forms.obo import FORMS as OBO
from kgcheck.forms.rdf import FORMS as RDF
from kgcheck.forms.refused import REFUSED
from kgcheck.forms.source import Source
from kgcheck.forms.xml_graphs import FORMS as XML

FORMS: tuple[GraphForm | RefusedForm, ...] = (*REFUSED, *OBO, *RDF, *XML)
HEAD = 1 << 18


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Stop what takes longer, an expression that is being searched for too."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [
        ("", "<!---->", "<1"),
        ("", "<!--> -->\n", "<1"),
        ("", "<?a?>", "<1"),
        ("", "<Ontology ", ""),
        ("", "\n", "x"),
        ("graph [\n", "\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "GRAPH\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "ex:g\n{ ", "x"),
    ],
)
def test_no_beginning_takes_long(tmp_path: Path, before: str, repeated: str, after: str) -> None:
    path = tmp_path / "graph"
    path.write_text(before + repeated * ((HEAD - len(before + after)) // len(repeated)) + after)
    source = Source(path.name, path)

    for form in FORMS:
        with processor_time(2):
            form.fits(source)
