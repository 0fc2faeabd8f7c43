"""A catalog whose server is reached by TLS only, and what is said where its certificate does not fit."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.errors.errors import CatalogError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.postgresql import Server, server, why_not
from streams_orchestration_tests.runtime.conftest import forget_engines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_not()), reason=str(why_not())),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Server]:
    """A server that takes connections of the network by TLS only."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with server("127.0.0.1", port) as made:
        data = made.directory / "data"
        key, certificate = data / "server.key", data / "server.crt"
        words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
        subprocess.run(
            ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
        )
        for file in (key, certificate):
            shutil.chown(file, data.owner(), data.group())
        key.chmod(0o600)
        (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        with made.connect() as connection:
            connection.execute("ALTER SYSTEM SET ssl = on")
            connection.execute("SELECT pg_reload_conf()")
        yield made


def address(made: Server, options: str) -> str:
    return f"postgresql://streams@localhost:{made.port}/postgres?schema=encrypted&hostaddr=127.0.0.1&{options}"


def test_the_catalog_is_reached_by_tls_with_the_certificate_verified(
    encrypted: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = encrypted.directory / "data" / "server.crt"
    copied = tmp_path / "root.crt"
    copied.write_bytes(root.read_bytes())
    monkeypatch.setenv("STREAMS_CATALOG", address(encrypted, f"sslmode=verify-full&sslrootcert={copied}"))
    catalog = create_catalog(Home(tmp_path / "home"))
    assert catalog.exists
    with catalog.read() as connection:
        seen = connection.exec_driver_sql("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").scalar()
    assert seen is True
    forget_engines()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("sslmode=disable", "no pg_hba.conf entry"),
        ("sslmode=verify-full&sslrootcert={other}", "certificate"),
    ],
    ids=["without TLS", "another authority"],
)
def test_a_connection_that_is_not_trusted_is_refused(
    encrypted: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, message: str
):
    other = tmp_path / "other.crt"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout {tmp_path}/other.key -out {other}"
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    monkeypatch.setenv("STREAMS_CATALOG", address(encrypted, options.format(other=other)))
    with pytest.raises(CatalogError, match=message):
        create_catalog(Home(tmp_path / "home"))
    forget_engines()
