"""Refuse to send passwords and keys without TLS, except to this machine and to allowed hosts."""

from ipaddress import ip_address

from kgcheck.errors import ConfigurationError

NAMED = "name the host in KGCHECK_CLEARTEXT_HOSTS"
"""Advice for a network that is trusted as it is."""


def is_cleartext_host(host: str, named: str) -> bool:
    """Tell whether a secret may go to a host without TLS.

    Names are compared as they are written: one that a resolver takes for this machine, and this does not, is refused.

    >>> [is_cleartext_host(host, "neo4j") for host in ("127.0.0.1", "::1", "neo4j", "localhost.evil.org", "127.1")]
    [True, True, True, False, False]
    """
    name = host.lower()
    if name == "localhost" or name in named.lower().replace(",", " ").split():
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def refuse_cleartext(host: str, named: str, instead: str) -> None:
    """Refuse to send a secret to a host without TLS, unless it may go there."""
    if not is_cleartext_host(host, named):
        raise ConfigurationError(f"a password or a key would go to {host} in the clear", f"{instead}, or {NAMED}")
