"""Reverse proxies before a service: a small one of the tests' own, and nginx where it is installed."""

import http.client
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from kgcheck import clock
from tests.support.ports import free_port

NGINX = """
daemon off; master_process off; error_log stderr; pid {folder}/pid;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    location {prefix}/ {{
      proxy_pass http://127.0.0.1:{to};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Request-Id $request_id;
    }}
  }}
}}
"""
"""As docs/service.md has it, without TLS."""


@contextmanager
def passing_on(
    to: int, prefix: str, *, keeps: bool, tls: ssl.SSLContext | None = None, is_plain: bool = False
) -> Iterator[str]:
    """A proxy that shows a service under a prefix."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            if is_plain:
                headers = {name: value for name, value in headers.items() if name.lower() != "host"}
            else:
                headers |= {"X-Forwarded-For": self.client_address[0], "X-Forwarded-Proto": "https" if tls else "http"}
            connection = http.client.HTTPConnection("127.0.0.1", to, timeout=60)
            connection.request(self.command, self.path if keeps else self.path[len(prefix) :], body, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls:
        # Its handshake is made where a connection is read first: in a thread of its own.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()


def own_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server of this machine speaks TLS with, and the file by which a client knows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kgcheck tests")])
    day = clock.exact_now()
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = made.not_valid_before(day - timedelta(days=1)).not_valid_after(day + timedelta(days=1))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate, both = folder / "certificate.pem", folder / "both.pem"
    certificate.write_bytes(made.sign(key, SHA256()).public_bytes(Encoding.PEM))
    both.write_bytes(secret + certificate.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, certificate


@contextmanager
def nginx(to: int, prefix: str, folder: Path) -> Iterator[str]:
    """The same by nginx; skips where it is not installed."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    port, file = free_port(), folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, port=port, prefix=prefix, to=to), encoding="utf-8")
    with subprocess.Popen([program, "-c", str(file), "-p", str(folder)], stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}{prefix}"
        finally:
            process.terminate()
