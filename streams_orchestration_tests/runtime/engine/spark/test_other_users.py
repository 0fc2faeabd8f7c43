"""Other users of the machine reach neither the objects of a session's JVM nor its sockets and files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark import SparkContext

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.runtime.engine.spark.private_directory import PREFIX

NOBODY = 65534
pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]

DESERIALISED = "planted.NoSuchClass"
AS_ANOTHER = f"""
import encodings.idna, os, socket, struct, sys
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})

def text(value):
    return struct.pack(">H", len(value)) + value.encode()

def sized(value):
    return struct.pack(">I", len(value)) + value

# an object of a class that is not there: Java says so as soon as it begins to deserialise
planted = b"\\xac\\xed\\x00\\x05sr" + text("{DESERIALISED}") + bytes(8) + b"\\x02\\x00\\x00xp"
to_endpoint = b"\\x00\\x01" + text("127.0.0.1") + struct.pack(">I", 1) + text("endpoint-verifier") + planted
upload = b"\\x01" + sized(b"app") + sized(b"1") + sized(b"rdd_0_0") + sized(planted) + sized(b"")
for port in sys.argv[1:]:
    for body in (to_endpoint, upload):
        with socket.create_connection(("127.0.0.1", int(port)), 10) as connection:
            request = b"\\x03" + struct.pack(">QI", 7, len(body)) + body
            connection.sendall(struct.pack(">Q", len(request) + 8) + request + b"\\n")
            answer = b""
            try:
                while len(answer) < 8 or len(answer) < struct.unpack(">Q", answer[:8])[0]:
                    if not (part := connection.recv(65536)):
                        break
                    answer += part
            except OSError:
                answer += b" no more"
        print(port, answer.decode(errors="replace").replace("\\n", " "))
"""
LOOKED_INTO = f"""
import os, sys
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
for place in sys.argv[1:]:
    try:
        print(place, os.listdir(place))
    except PermissionError:
        pass
"""


def as_another(code: str, arguments: list[str]) -> list[str]:
    command = [sys.executable, "-I", "-c", code, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout.splitlines()


def test_other_users_have_no_object_deserialised() -> None:
    sockets = psutil.Process(spark_engine().pid).net_connections("tcp")
    gateway: Any = SparkContext._gateway
    listening = {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}
    ports = listening - {gateway.gateway_parameters.port}
    assert len(ports) == 2, "those of the RPC and of the block manager"
    answers = as_another(AS_ANOTHER, [str(port) for port in ports])
    assert [answer for answer in answers if DESERIALISED in answer] == []
    assert sum("SaslMessage" in answer for answer in answers) == 2 * len(ports), answers


def test_other_users_see_neither_the_sockets_nor_the_files_of_a_session() -> None:
    session = spark_engine().session
    jvm: Any = session._jvm
    local = session.sparkContext.getConf().get("spark.local.dir")
    assert local is not None
    private = Path(jvm.java.lang.System.getProperty("java.io.tmpdir"))
    assert private.name.startswith(PREFIX)
    assert any(path.is_socket() for path in private.iterdir())
    assert as_another(LOOKED_INTO, [str(private), local]) == []
