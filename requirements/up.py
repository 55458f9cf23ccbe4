"""Start Neo4j with the demo's graph, and the service over it, in containers: ``make up``.

Passwords are made once and kept in .env, which git ignores. A graph and findings that are there stay as they are.
"""

import os
import secrets
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPOSE = ["docker", "compose", "--profile", "service"]
KGCHECK = [*COMPOSE, "run", "--rm", "service"]
DEMO = "/opt/kgcheck/loaders/ckg/demo"
REFERENCE = "/work/.kgcheck/reference.duckdb"
START = (
    [*COMPOSE, "build", "service"],
    [*COMPOSE, "up", "--detach", "--wait", "neo4j", "postgres"],
)
FILL = (
    [*KGCHECK, "load", f"{DEMO}/import"],
    [*KGCHECK, "reference", "build", f"{DEMO}/reference", "--out", REFERENCE],
    [*KGCHECK, "audit", "--limit", "3"],
)
SERVE = [*COMPOSE, "up", "--detach", "--wait", "service"]
TOKEN = [*KGCHECK, "token", "add", "you", "--role", "admin", "--expires", "12h"]
PAGE = "http://127.0.0.1:8000/"
FINDINGS = 1
"""Exit code of an audit that found something."""


def write_passwords():
    """Write .env with random passwords, readable by its owner alone; one that is there stays."""
    try:
        descriptor = os.open(os.path.join(ROOT, ".env"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        for name in ("NEO4J", "LEDGER"):
            file.write(f"KGCHECK_{name}_PASSWORD={secrets.token_hex(16)}\n")
        file.write(f"KGCHECK_IMPORT_DIR=./loaders/ckg/demo/import\nKGCHECK_REFERENCE={REFERENCE}\n")
    say("wrote .env with random passwords")


def run(command, *, fine=(0,), **options):
    """Run a command and return it; one that fails ends all."""
    say(f"$ {' '.join(command)}")
    done = subprocess.run(command, cwd=ROOT, **options)
    if done.returncode not in fine:
        say(f"that ended with {done.returncode}: mend it, then run make up again, which goes on")
        sys.exit(done.returncode)
    return done


def say(text):
    """Print a line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main():
    """Start everything, and print the page's address and a token."""
    write_passwords()
    for command in START:
        run(command)
    # Without a ledger, kgcheck runs ends with 2.
    if subprocess.run([*KGCHECK, "runs"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        for command in FILL:
            run(command, fine=(0, FINDINGS) if "audit" in command else (0,))
    # First: without users, nothing listens beyond its own machine, or container.
    token = run(TOKEN, stdout=subprocess.PIPE, text=True).stdout.strip()
    run(SERVE)
    sys.stdout.write(f"open {PAGE} and sign in with this token, which counts for 12 hours:\n{token}\n")


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError:
        say("there is no docker here: install it, or start a server with make neo4j (docs/tutorial_neo4j.md)")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
