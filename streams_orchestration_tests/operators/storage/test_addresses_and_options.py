"""Addresses and options of object stores: what is wrong is said before anything is reached, and never with a secret."""

from __future__ import annotations

from typing import Any

import pytest
from pyarrow import fs
from pydantic import ValidationError

from streams_orchestration.compiler.checking.parameter_errors import parameter_errors
from streams_orchestration.operators.references import UnresolvedReferenceError, resolved
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.storage.addresses import parse_address
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import StorageRefusedError, is_address
from streams_orchestration.operators.storage.storages import storage_of
from streams_orchestration_tests.operators.harness import Bench

PLANTED = "planted-secret"


@pytest.mark.parametrize(
    ("text", "path", "host"),
    [
        ("s3://bucket/a/b.csv", "bucket/a/b.csv", ""),
        ("gs://bucket/a/", "bucket/a", ""),
        ("abfs://container@account.dfs.core.windows.net/a/b", "container/a/b", "account"),
        ("abfss://container@account/a", "container/a", "account"),
        ("hdfs://node:8020/a/b", "/a/b", "node:8020"),
    ],
)
def test_an_address_is_taken_apart(text: str, path: str, host: str):
    address = parse_address(text)
    assert (address.path, address.host, str(address)) == (path, host, text.rstrip("/"))


@pytest.mark.parametrize(
    ("text", "wanted"), [("s3://b/a", True), ("package://p/a", False), ("/a", False), ("a", False)]
)
def test_an_address_is_known_by_its_scheme(text: str, wanted: bool):
    assert is_address(text) == wanted


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"file": "s4://bucket/a"}, "s4://: this kind of storage is not known; the nearest is s3"),
    ({"file": f"s3://key:{PLANTED}@bucket/a"}, "the address contains credentials"),
    ({"file": f"hdfs://user:{PLANTED}@node:8020/a"}, "the address contains credentials"),
    ({"file": f"hdfs://user:pass/{PLANTED}@node/a"}, "the address contains credentials"),
    ({"file": f"s3://bucket/a?secretKey={PLANTED}"}, "the address contains credentials"),
    ({"file": "s3://b/a", "storage": {"endpoint": f"http://me:{PLANTED}@host"}}, "it contains a user or password"),
    ({"file": "s3:///a"}, "this is not an address of s3"),
    ({"file": "abfs://container/a"}, "this is not an address of abfs"),
    ({"file": "s3://bucket/a", "storage": {"accountKey": "${env:K}"}}, "accountKey cannot be combined with s3://"),
    ({"file": "rows.csv", "storage": {"region": "x"}}, "storage is for addresses"),
    ({"file": "s3://bucket/a", "storage": {"secretKey": PLANTED}}, "secretKey: it contains a secret"),
    ({"file": "s3://bucket/a", "storage": {"sasToken": f"x${{env:K}}{PLANTED}"}}, "sasToken: it contains a secret"),
    ({"file": "s3://bucket/a", "storage": {"secretKey": 4711}}, "storage.secretKey"),
    ({"file": "s3://bucket/a", "storage": {"secret": PLANTED}}, "storage.secret"),
]


@pytest.mark.parametrize(("parameters", "wanted"), WRONG)
@pytest.mark.parametrize("kind", [FileSource, FileSink])
def test_wrong_storage_settings_are_refused_without_secrets(kind: type, parameters: dict[str, Any], wanted: str):
    types = {"outputs": ["n int"]} if kind is FileSource else {"inputs": ["n int"]}
    with pytest.raises(ValueError) as error:
        Bench(kind, **types, **parameters)
    texts = (
        [each.text for each in parameter_errors(kind, error.value)]
        if isinstance(error.value, ValidationError)
        else [str(error.value)]
    )
    assert wanted in texts[0]
    assert PLANTED not in "".join(texts)
    assert "4711" not in "".join(texts)


def test_read_uncommitted_does_not_go_with_an_object_store():
    with pytest.raises(ValidationError, match="cannot be combined with an object store"):
        Bench(FileSink, inputs=["n int"], file="s3://bucket/a", visibility="read_uncommitted")


@pytest.mark.parametrize("library", ["libjvm", "libhdfs"])
def test_hadoop_that_is_not_installed_is_named_in_a_few_words(monkeypatch: pytest.MonkeyPatch, library: str):
    def refuse(*_arguments: Any, **_options: Any) -> Any:
        message = f"Unable to load {library} " + "dlopen(/usr/lib/there/libjvm.so) failed " * 200
        raise OSError(message)

    monkeypatch.setattr(fs, "HadoopFileSystem", refuse)
    storage = storage_of("hdfs://node:8020/data/x.csv", options=StorageOptions())
    wanted = rf"hdfs://node:8020/data/x.csv: {library} cannot be loaded: .*HADOOP_HOME"
    with pytest.raises(StorageRefusedError, match=wanted) as error:
        storage.files("hdfs://node:8020/data/x.csv")
    assert len(str(error.value)) < 400


def test_references_are_read_where_they_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    monkeypatch.setenv("NAME", "value")
    (tmp_path / "secret").write_text("of a file\n")
    assert (
        resolved("${env:NAME}, {env:NAME}, ${file:" + str(tmp_path / "secret") + "}", "x") == "value, value, of a file"
    )
    with pytest.raises(UnresolvedReferenceError, match="x: the environment variable OTHER is not set"):
        resolved("${env:OTHER}", "x")
