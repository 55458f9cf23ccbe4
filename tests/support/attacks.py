"""Statements that want more than to read a graph, made from a grammar, and canaries that tell whether one got it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

from hypothesis import strategies as st

SECRET = "canary-3f1d77"
"""Stands in the file that no statement may read."""

_LIBRARY = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void ran(void) { close(open("%s", O_CREAT | O_WRONLY, 0600)); }
"""


class Canaries:
    """A folder with a secret file and a native library, and a listener on loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = folder / "secret.csv"
        self.secret.write_text(f"word\n{SECRET}\n")
        self.library = folder / "library.so"
        self.ran = folder / "ran"
        self._build()
        self.calls = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, daemon=True).start()
        self._before = self._state()

    @property
    def places(self) -> dict[str, str]:
        """What the places of an attack stand for."""
        port = self._listener.getsockname()[1]
        return {
            "{SECRET}": str(self.secret),
            "{OUT}": str(self.folder / "written.csv"),
            "{FOLDER}": str(self.folder / "exported"),
            "{LIBRARY}": str(self.library),
            "{URL}": f"http://127.0.0.1:{port}/canary.csv",
        }

    def aim(self, attack: str) -> str:
        """The attack, aimed at these canaries."""
        for place, meant in self.places.items():
            attack = attack.replace(place, meant)
        return attack

    def harm(self, shown: str = "") -> list[str]:
        """What an attack has achieved."""
        found = [f"{name} was touched" for name in self._state().items() ^ self._before.items()]
        if SECRET in shown or "root:x:" in shown:
            found.append("a file was read")
        if self.calls:
            found.append(f"{self.calls} requests came")
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.close()

    def _build(self) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.library.write_bytes(b"")
            return
        source = self.folder / "library.c"
        source.write_text(_LIBRARY % self.ran)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.library, source], check=True)

    def _listen(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.calls += 1
            caller.close()

    def _state(self) -> dict[str, tuple[int, int, int]]:
        entries = (Path(root) / name for root, _, names in os.walk(self.folder) for name in names)
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_mode) for path in entries}


UNDISGUISED = (
    "LOAD FROM '{SECRET}' RETURN *",
    "COPY (MATCH (p:Protein) RETURN p.id) TO '{OUT}'",
    "LOAD EXTENSION '{LIBRARY}'",
    "INSTALL httpfs FROM '{URL}'",
    "EXPORT DATABASE '{FOLDER}'",
)
"""Attacks that LadybugDB runs even on a store that is open for reading."""

_DANGERS = (
    *UNDISGUISED,
    "LOAD FROM '/etc/passwd' (header=false, delim=':', file_format='csv') RETURN *",
    "LOAD WITH HEADERS (word STRING) FROM '{SECRET}' RETURN word",
    "LOAD FROM glob('{SECRET}*') RETURN *",
    "LOAD FROM '{URL}' RETURN *",
    "COPY Protein FROM '{SECRET}'",
    "INSTALL httpfs",
    "UPDATE httpfs",
    "ATTACH '{SECRET}' AS other (dbtype duckdb)",
    "ATTACH '{URL}' AS other (dbtype lbug)",
    "IMPORT DATABASE '{FOLDER}'",
    "CALL show_tables() RETURN *",
    "CALL db.labels() YIELD label RETURN label",
    "CALL apoc.load.json('{URL}') YIELD value RETURN value",
    "CALL apoc.export.csv.all('{OUT}', {})",
    "CALL dbms.listConfig() YIELD name RETURN name",
    "CALL threads=1",
    "LOAD CSV FROM '{URL}' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM 'file://{SECRET}' AS line RETURN line",
    "CREATE (:Gene {id: 'X'})",
    "MATCH (p:Protein) SET p.name = 'x'",
    "MATCH (p:Protein) DETACH DELETE p",
    "MATCH (p:Protein) REMOVE p.name",
    "MERGE (g:Gene {id: 'X'}) ON CREATE SET g.name = 'x'",
    "CREATE MACRO m(x) AS x + 1",
    "CREATE NODE TABLE t(id STRING PRIMARY KEY)",
    "DROP TABLE Protein",
    "ALTER TABLE Protein ADD other STRING",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "USE other",
    "SHOW SETTINGS",
    "FOREACH (x IN [1] | CREATE (:Gene {id: 'X'}))",
    "RETURN apoc.cypher.runFirstColumn('RETURN 1', {}, true)",
    "RETURN file('{SECRET}')",
    "RETURN read_text('{SECRET}')",
    "MATCH (n) RETURN n",
)
_SUBQUERIES = (
    "MATCH (p:Protein) WHERE EXISTS {{ {0} }} RETURN p.id",
    "MATCH (p:Protein) WHERE COUNT {{ {0} }} > 0 RETURN p.id",
    "MATCH (p:Protein) CALL {{ {0} }} RETURN p.id",
    "MATCH (p:Protein) CALL (p) {{ {0} }} IN TRANSACTIONS RETURN p.id",
    "MATCH (p:Protein) RETURN COLLECT {{ {0} }} AS x",
    "MATCH (p:Protein) RETURN [x IN [1] | {0}] AS x",
    "MATCH (p:Protein) RETURN p.id UNION {0}",
    "MATCH (p:Protein) RETURN p.id UNION ALL {0}",
    "MATCH (p:Protein) WITH p {0}",
    "{0} MATCH (p:Protein) RETURN p.id",
    "MATCH (p:Protein) {0} RETURN p.id",
    "UNWIND [1] AS x {0}",
)
_NAMES = (
    "a//b",
    "'",
    '"',
    "/*",
    "*/",
    "a`` b",
    "\\u0027",
    "\\u0060",
    "\\`",
    ";",
    "--",
    "a\nb",
    "$p",
    "\u2028",
    "\u2019",
)
_CARRIERS = (
    "MATCH (`{name}`:Protein) RETURN `{name}`.id; {danger}",
    "MATCH (`{name}`:Protein) RETURN 1 AS `{name}`; {danger} //`",
    "MATCH (p:Protein) RETURN p.id AS `{name}` ; {danger}",
    "MATCH (p:`{name}`) RETURN p; {danger}",
    "MATCH (p:Protein) RETURN p.`{name}`; {danger}",
    "MATCH (p:Protein {{`{name}`: 1}}) RETURN p.id; {danger}",
    "MATCH (p:Protein) WHERE p.id = '{name}' RETURN p.id; {danger}",
    'MATCH (p:Protein) WHERE p.id = "{name}" RETURN p.id; {danger}',
    "MATCH (p:Protein) WHERE p.id = 'a\\' RETURN p.id; {danger} //' RETURN p.id",
    "MATCH (p:Protein) WHERE p.id = '\\u0027 RETURN 1; {danger} //' RETURN p.id",
    "MATCH (p:Protein) /* {name} */ RETURN p.id; {danger}",
    "MATCH (p:Protein) // {name}\n RETURN p.id; {danger}",
    "MATCH (p:Protein) RETURN p.id /* ; {danger} */",
    "MATCH (p:Protein) RETURN p.id // {name} \r {danger}",
    "MATCH (p:Protein) RETURN p.id // {name} \u2028; {danger}",
    "MATCH (p:Protein) RETURN '{name}' AS `x` ;; {danger}",
    "MATCH (`{name}`:Protein) WITH `{name}` {danger}",
    "MATCH (p:Protein)-[`{name}`:ACTS_ON|`{name}`]->(q) RETURN q; {danger}",
)
_SPACES = ("\u00a0", "\u2003", "\u3000", "\ufeff", "\t", "\n", "\f", "\u200b", "/**/", " /* x */ ", "//x\n")


@st.composite
def attacks(draw: st.DrawFn) -> str:
    """A statement with something in it that must not happen; places as `Canaries.aim` fills them."""
    danger = draw(st.sampled_from(_DANGERS))
    shape = draw(st.integers(0, 3))
    if shape == 1:
        danger = draw(st.sampled_from(_SUBQUERIES)).format(danger)
    elif shape == 2:
        name = draw(st.sampled_from(_NAMES) | st.text("a/*`'\"\\;u0 27$", max_size=8))
        danger = draw(st.sampled_from(_CARRIERS)).format(name=name, danger=danger)
    elif shape == 3:
        danger = draw(st.sampled_from(_DANGERS)) + draw(st.sampled_from((";", " ; ", "\n", ";//x\n"))) + danger
    return _disguised(draw, danger)


def _disguised(draw: st.DrawFn, attack: str) -> str:
    if draw(st.integers(0, 3)) == 0:
        words = attack.split(" ")
        spaces = draw(st.lists(st.sampled_from((" ", *_SPACES)), min_size=len(words), max_size=len(words)))
        attack = "".join(word + space for word, space in zip(words, spaces, strict=True))
    if draw(st.integers(0, 4)) == 0:
        verb = attack.split(" ")[0]
        attack = attack.replace(verb, "".join(c.lower() if i % 2 else c.upper() for i, c in enumerate(verb)), 1)
    if draw(st.integers(0, 9)) == 0:
        attack = attack.replace("L", "\\u004C", 1)
    prefix = draw(st.sampled_from(("", "", "", "EXPLAIN ", "PROFILE ", "EXPLAIN LOGICAL ", "CYPHER 5 ", "; ")))
    return prefix + attack + draw(st.sampled_from(("", "", "", ";", " //", " /*", " `", " '")))


HONEST: tuple[tuple[str, Any], ...] = (
    ("MATCH (g:Gene {id: 'MGEA5'})-[:TRANSLATED_INTO]->(p:Protein) RETURN p.id AS id", [["O60502"]]),
    ("match (p:Protein) where p.id = 'O60502' return p.name;", [["MGEA5"]]),
    ('MATCH (p:Protein) WHERE p.id = "O60502" /* aside */ RETURN p.name // more', [["MGEA5"]]),
    ("MATCH (p:`Protein`) WHERE p.id IN ['O60502', 'nobody'] RETURN `p`.`id`", [["O60502"]]),
    ("UNWIND ['O60502', 'nobody'] AS x MATCH (p:Protein {id: x}) RETURN x, p.name", [["O60502", "MGEA5"]]),
    ("MATCH (p:Protein) WHERE p.name STARTS WITH 'MGE' AND p.id CONTAINS '605' RETURN p.id", [["O60502"]]),
    ("MATCH (p:Protein) WHERE p.name ENDS WITH '\\u0041\\u0035' RETURN p.id", [["O60502"]]),
    ("MATCH (p:Protein) WHERE p.name = 'it\\'s; DROP TABLE Protein //' RETURN p.id", []),
    ("MATCH (p:Protein {id: 'O60502'}) RETURN lower(p.name), toUpper(p.id), size(p.name)", [["mgea5", "O60502", 5]]),
    ("MATCH (p:Protein {id: 'O60502'}) RETURN CASE WHEN p.name = 'MGEA5' THEN 'old' ELSE 'new' END AS k", [["old"]]),
    ("MATCH (p:Protein {id: 'O60502'})<-[r:TRANSLATED_INTO]-(g:Gene) RETURN type(r), labels(g)", None),
    ("MATCH (p:Protein) RETURN count(*) AS n, count(DISTINCT p.id) AS m", None),
    (
        "MATCH (p:Protein)-[r:ACTS_ON]->(q:Protein) RETURN p.id, q.id, r.score ORDER BY r.score, p.id, q.id LIMIT 9",
        None,
    ),
    (
        "MATCH (p:Protein)-[:ACTS_ON|:CURATED_INTERACTS_WITH]-(q) RETURN DISTINCT q.id ORDER BY q.id SKIP 3 LIMIT 4",
        None,
    ),
    ("MATCH (a:Disease)-[:HAS_PARENT*1..3]->(b:Disease) RETURN a.id, b.id ORDER BY a.id, b.id LIMIT 9", None),
    ("MATCH (p:Protein)-[:ACTS_ON]->(q) WITH p, count(q) AS n WHERE n >= 2 RETURN p.id, n ORDER BY n DESC, p.id", None),
    ("MATCH (p:Protein) WHERE NOT (p)-[:ACTS_ON]->(:Protein) RETURN count(p)", None),
    ("MATCH (p:Protein) WHERE p.name IS NULL AND p.id IS NOT NULL RETURN p.id ORDER BY p.id", None),
    (
        "MATCH (p:Protein {id: 'O60502'}) OPTIONAL MATCH (p)-[:CURATED_INTERACTS_WITH]->(q:Protein) RETURN p.id, q.id",
        None,
    ),
    ("MATCH (p:Protein)-[r:ACTS_ON]->(:Protein) WHERE r.score >= 0.9 OR r.score < 1e-1 RETURN max(r.score)", None),
    ("MATCH (p:Protein), (g:Gene) WHERE p.name = g.id RETURN p.id, g.id ORDER BY p.id LIMIT 5", None),
    ("MATCH (p:Protein) WHERE 'p53' IN p.synonyms RETURN p.id", None),
    ("MATCH w = (a:Disease)-[:HAS_PARENT*1..2]->(b:Disease) RETURN length(w), a.id, b.id ORDER BY a.id, b.id", None),
    ("MATCH (p:Protein {id: 'O60502'}) RETURN p", None),
    (
        "MATCH (p:Protein) RETURN coalesce(p.name, p.id) AS n, 2 * 3 - 1 AS five, 7 % 4, 1.5 + 0.25 ORDER BY n LIMIT 3",
        None,
    ),
    ("MATCH (p:Protein)-[:ACTS_ON]->(q:Protein) WITH p, collect(q.id) AS x RETURN p.id, size(x) ORDER BY p.id", None),
    (
        "MATCH (p:Protein {id: 'O60502'}) RETURN left(p.id, 2), right(p.id, 2), replace(p.id, 'O', 'o'), reverse(p.id),"
        " trim(' a '), toUpper('a'), abs(-2), ceil(1.2), floor(1.8), sqrt(4.0), sign(-3)",
        None,
    ),
    (
        "MATCH (x:Protein)-[r:ACTS_ON]-(y:Protein) RETURN min(r.score), avg(r.score), sum(r.score) > 0, size([1, 2])",
        None,
    ),
    ("MATCH w = (:Gene)-[:TRANSLATED_INTO]->(:Protein {id: 'O60502'}) RETURN nodes(w), relationships(w), w", None),
)
"""Questions over the demo graph, with their rows where those are known by heart; both stores answer them alike."""
