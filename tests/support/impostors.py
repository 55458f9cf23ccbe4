"""Servers of somebody: they speak as much of Bolt, PostgreSQL and HTTP as makes a client say its password."""

from __future__ import annotations

import re
import socket
import struct
import threading
from typing import Any, Self


class Impostor:
    """A port that keeps all that is said to it; it listens on every address of this machine."""

    def __init__(self) -> None:
        self.heard = b""
        self.calls = 0
        self._socket = socket.create_server(("0.0.0.0", 0))  # noqa: S104  # nobody else is on the machine of a test
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        # A thread that waits for a caller does not see that the port is closed.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.settimeout(5)
            with connection:
                try:
                    self._speak(connection)
                except OSError:
                    continue

    def _speak(self, connection: socket.socket) -> None:
        self._hear(connection)

    def _hear(self, connection: socket.socket) -> bytes:
        said = connection.recv(65_536)
        self.heard += said
        return said


_REQUEST = re.compile(rb"(?s)(?:(?!\r\n\r\n).)*?(?:content-length: (\d+)(?:(?!\r\n\r\n).)*)?\r\n\r\n", re.IGNORECASE)


class HttpImpostor(Impostor):
    """Takes any request, and refuses it."""

    def _speak(self, connection: socket.socket) -> None:
        said = self._hear(connection)
        while not (whole := _REQUEST.match(said)) or len(said) < whole.end() + int(whole[1] or 0):
            said += self._hear(connection)
        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class PostgresImpostor(Impostor):
    """Knows no TLS, and asks for the password in the clear."""

    def _speak(self, connection: socket.socket) -> None:
        while said := self._hear(connection):
            if said.startswith(b"p"):
                told = b"SFATAL\0C28P01\0Mno\0\0"
                connection.sendall(b"E" + struct.pack(">i", len(told) + 4) + told)
                return
            asks_for_encryption = len(said) == 8
            connection.sendall(b"N" if asks_for_encryption else b"R" + struct.pack(">ii", 8, 3))


class BoltImpostor(Impostor):
    """Speaks Bolt 5.4 and takes every password; of a cluster it names another member."""

    def __init__(self, member: str = "") -> None:
        super().__init__()
        self._member = member

    def _speak(self, connection: socket.socket) -> None:
        if not self._hear(connection).startswith(_BOLT):
            return
        connection.sendall(bytes([0, 0, 4, 5]))
        while said := self._hear(connection):
            while len(said) > 2:
                (size,) = struct.unpack(">H", said[:2])
                packed = self._answer(said[3])
                connection.sendall(struct.pack(">H", len(packed)) + packed + b"\x00\x00")
                said = said[size + 4 :]

    def _answer(self, message: int) -> bytes:
        if message == _ROUTE and self._member:
            servers = [{"addresses": [self._member], "role": role} for role in ("READ", "WRITE", "ROUTE")]
            return b"\xb1\x70" + _packed({"rt": {"ttl": 300, "db": "neo4j", "servers": servers}})
        if message in _TAKEN:
            return b"\xb1\x70" + _packed({"server": "Neo4j/5.26.0", "connection_id": "x"})
        return b"\xb1\x7f" + _packed({"code": "Neo.ClientError.Security.Forbidden", "message": "no"})


_BOLT = b"\x60\x60\xb0\x17"
_ROUTE = 0x66
_TAKEN = (0x01, 0x02, 0x0F, 0x6A)
"""HELLO, GOODBYE, RESET and LOGON."""


def _packed(value: Any) -> bytes:
    """A value in PackStream, of the few kinds that are needed."""
    match value:
        case str():
            data = value.encode()
            return b"\xd0" + bytes([len(data)]) + data
        case int():
            return b"\xc9" + struct.pack(">h", value)
        case list():
            return bytes([0x90 + len(value)]) + b"".join(map(_packed, value))
        case _:
            return bytes([0xA0 + len(value)]) + b"".join(_packed(k) + _packed(v) for k, v in value.items())
