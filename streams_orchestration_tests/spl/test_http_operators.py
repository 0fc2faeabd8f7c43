"""Operators of the toolkit com.ibm.streamsx.inet.http make requests, and their response is in their tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote
from urllib.request import parse_http_list, parse_keqv_list

import pytest

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_tree
from streams_orchestration.model.diagnostics import errors_of
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.toolkits.http_get_stream import HTTPGetStream
from streams_orchestration.operators.toolkits.http_request import HTTPRequest
from streams_orchestration.operators.toolkits.oauth import REQUIRED, OAuth1
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.echoing import server
from streams_orchestration_tests.servers.receiving import receiving
from streams_orchestration_tests.waiting import until

RESPONSE = "rstring data, rstring errorMessage, int32 responseCode, int32 dataSize"
SOURCE = """stream<{type}> Src = Beacon() {{ param iterations : 1; output Src : {output}; }}"""
MAIN = """use com.ibm.streamsx.inet.http::*;
composite Main {{
  param expression<rstring> $url : getSubmissionTimeValue("url");
  graph
    {source}
    {operator}
    () as Out = FileSink(Got) {{ param file : "got"; }}
}}
"""


def got(directory: Path, url: str, source: tuple[str, str], operator: str) -> list[dict[str, Any]]:
    """Run an application with one HTTP operator; return the tuples that it submits."""
    file = directory / "Main.spl"
    type_, output = source
    file.write_text(MAIN.format(source=SOURCE.format(type=type_, output=output), operator=operator))
    document, found = read_tree(file)
    assert errors_of(found) == []
    return run_in_process(document, {}, options=Options(submission={"url": url}))["Out"].to_pylist()


POSTED = [
    ("", ("rstring a, int32 n", 'a = "x y", n = 5'), "POST", "/p", "a=x+y&n=5"),
    ('headerContentType : "application/json";', ("rstring a, int32 n", 'a = "x", n = 5'), "POST", "/p",
     '{"a":"x","n":5}'),
    ('headerContentType : "application/json"; include : n;', ("rstring a, int32 n", "n = 5"), "POST", "/p", '{"n":5}'),
    ('headerContentType : "application/json";', ("rstring jsonString", 'jsonString = "[1]"'), "POST", "/p", "[1]"),
    ('headerContentType : "application/json";', ("rstring jsonString, int32 n", 'jsonString = "{\\"k\\": 1}"'), "POST",
     "/p", '{"k":1,"n":0}'),
    ('headerContentType : "text/plain"; extraHeaders : "X-One: 1", "X-Two: 2";', ("rstring a", 'a = "t"'), "POST",
     "/p", "t"),
    ('headerContentType : "text/plain";', ("rstring a", 'a = "größer"'), "POST", "/p", "größer"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "source", "method", "path", "body"), POSTED)
def test_a_tuple_is_posted_as_its_content_type_says(
    tmp_path: Path, parameters: str, source: tuple[str, str], method: str, path: str, body: str
):
    operator = f"stream<HTTPResponse> Got = HTTPPost(Src) {{ param url : $url; {parameters} }}"
    with server() as (address, requests):
        [row] = got(tmp_path, f"{address}{path}", source, operator)
    content = f"POST {path}\n{body}"
    assert row == {"data": content, "errorMessage": "", "responseCode": 200, "dataSize": len(content.encode())}
    [(called, at, headers, sent)] = requests
    assert (called, at, sent) == (method, path, body)
    assert ("X-Two" in headers) == ("X-Two" in parameters)


@pytest.mark.slow
def test_a_post_that_is_refused_or_gets_no_answer_says_so_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    parameters = "url : $url; maxRetries : 1; retryDelay : 0.0;"
    operator = f"stream<tuple<int32 n>, HTTPResponse> Got = HTTPPost(Src) {{ param {parameters} }}"
    source = ("int32 n", "n = 5")
    with server() as (address, _):
        [row] = got(tmp_path, f"{address}/bad", source, operator)
    assert row == {"n": 5, "data": "", "errorMessage": "POST /bad\nn=5", "responseCode": 404, "dataSize": 0}
    [row] = got(tmp_path, "http://user:hidden@127.0.0.1:9/?token=hidden", source, operator)
    assert (row["responseCode"], "Connection" in row["errorMessage"]) == (-1, True)
    assert "hidden" not in row["errorMessage"] + caplog.text


REQUESTS = [
    ("fixedMethod : GET; requestAttributesAsUrlArguments : true;", "GET", "/r?a=x+y&n=5", ""),
    ("method : a; ", "NONE", "", ""),
    ("fixedMethod : POST;", "POST", "/r", '{"a":"x y","n":5}'),
    ('fixedMethod : POST; fixedContentType : "application/x-www-form-urlencoded"; requestAttributes : "n";', "POST",
     "/r", "n=5"),
    ('fixedMethod : POST; fixedContentType : "text/plain";', "POST", "/r", "x y5"),
    ("fixedMethod : PUT; requestBodyAttribute : a;", "PUT", "/r", "x y"),
    ("fixedMethod : GET; requestUrlArgumentsAttribute : a;", "GET", "/r?x%20y", ""),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "method", "path", "body"), REQUESTS)
def test_a_request_is_made_for_each_tuple(tmp_path: Path, parameters: str, method: str, path: str, body: str):
    operator = (
        "stream<int32 n, rstring body, rstring line, int32 code, list<rstring> heads, rstring kind> Got ="
        f' HTTPRequest(Src) {{ param fixedUrl : $url; {parameters} outputBody : "body"; outputStatus : "line";'
        ' outputStatusCode : "code"; outputHeader : "heads"; outputContentType : "kind"; }'
    )
    text = "none" if method == "NONE" else "x y"
    with server() as (address, requests):
        [row] = got(tmp_path, f"{address}/r", ("rstring a, int32 n", f'a = "{text}", n = 5'), operator)
    assert row["n"] == 5
    if method == "NONE":
        assert (requests, row["code"], row["body"]) == ([], 0, "")
        return
    assert [(called, at, sent) for called, at, _, sent in requests] == [(method, path, body)]
    assert row["body"] == f"{method} {path}\n{body}"
    assert (row["line"], row["code"], row["kind"]) == ("HTTP/1.1 200 OK", 200, "text/plain")
    assert "Content-Type: text/plain; charset=utf-8" in row["heads"]


@pytest.mark.slow
def test_each_line_of_a_response_may_be_a_tuple_and_credentials_are_sent(tmp_path: Path):
    operator = """stream<rstring line> Got = HTTPRequest(Src) {
      param fixedUrl : $url; fixedMethod : PUT; requestBodyAttribute : a; outputDataLine : "line";
            authenticationProperties : "ANY_HOST=me:secret"; }"""
    with server() as (address, requests):
        rows = got(tmp_path, f"{address}/r", ("rstring a", 'a = "one\\ntwo"'), operator)
    assert [row["line"] for row in rows] == ["PUT /r", "one", "two"]
    assert requests[0][2]["Authorization"] == "Basic bWU6c2VjcmV0"


KEYS = {"consumerKey": "k", "consumerSecret": "s", "accessToken": "t", "accessTokenSecret": "u"}
SIGNED = [
    ("HTTPPost", 'url : $url; authenticationType : "oauth"; authenticationProperty'),
    ("HTTPRequest", 'fixedUrl : $url; fixedMethod : GET; authenticationType : "OAUTH1"; authenticationProperties'),
]


def test_a_signature_is_that_of_the_example_in_the_standard():
    keys = ("dpf43f3p2l4k3l03", "kd94hf93k423kf44", "nnch734d00sl2jdk", "pfkkdhi9sl3r4s00")
    signer = OAuth1(dict(zip(REQUIRED, keys, strict=True)))
    address = "http://photos.example.net/photos?file=vacation.jpg&size=original"
    signature = signer.signature("GET", address, signer.protocol("137131202", "chapoH"))
    assert signature == "MdpQcU8iPSUjWoN/UDMsK2sui9I="


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "parameters"), SIGNED)
def test_requests_are_signed_by_keys_that_may_be_submission_time_values(tmp_path: Path, operator: str, parameters: str):
    keys = [f'"{name}=" + getSubmissionTimeValue("{name}", "{value}")' for name, value in KEYS.items()]
    type_ = RESPONSE if operator == "HTTPPost" else "int32 n"
    invocation = f"stream<{type_}> Got = {operator}(Src) {{ param {parameters} : {', '.join(keys)}; }}"
    with server() as (address, requests):
        got(tmp_path, f"{address}/p?q=x%20y", ("int32 n", "n = 5"), invocation)
    [(called, _, headers, body)] = requests
    protocol = dict(parse_keqv_list(parse_http_list(headers["Authorization"].removeprefix("OAuth "))))
    signature = unquote(protocol.pop("oauth_signature"))
    fields = parse_qsl(body)
    assert (protocol["oauth_consumer_key"], protocol["oauth_token"]) == ("k", "t")
    assert OAuth1(KEYS).signature(called, f"{address}/p?q=x%20y", protocol, fields) == signature


@pytest.mark.slow
def test_the_lines_of_a_response_are_tuples_and_then_the_stream_ends(tmp_path: Path):
    with server() as (address, _):
        bench = Bench(HTTPGetStream, [], ["data string NOT NULL"], results=tmp_path, url=f"{address}/a", postData="k=v")
        reached: dict[str, Any] = {}

        def ended() -> bool:
            made = bench.produce(reached.get("offset"))
            reached["offset"] = made.offset
            return made.exhausted

        assert isinstance(bench.operator, HTTPGetStream)
        with receiving(bench.operator):
            until(ended, lambda: f"the source has not ended: {bench.rows()}")
    assert bench.items() == [("POST /a",), ("k=v",), Punctuation.WINDOW]


@pytest.mark.slow
def test_a_response_that_fails_is_a_tuple_of_the_second_port(tmp_path: Path):
    second = "data string NOT NULL, errorMessage string NOT NULL, responseCode int NOT NULL, dataSize int NOT NULL"
    with server() as (address, _):
        bench = Bench(
            HTTPGetStream,
            [],
            ["data string NOT NULL", second],
            results=tmp_path,
            url=f"{address}/bad",
            maxRetries=0,
            retryDelay=0,
        )
        assert isinstance(bench.operator, HTTPGetStream)
        with receiving(bench.operator):
            until(lambda: bench.produce().exhausted, lambda: f"the source has not ended: {bench.rows(1)}")
    assert bench.rows(1)[-1] == ("GET /bad\n", "Not Found", 404, 9)


MALFORMED = [
    (("http://[::1", "X-One: 1"), "url: the address is malformed; write http://host:port/path"),
    (("http://127.0.0.1:9", "X-One"), "extraHeaderAttribute: header: 'X-One' is not a header; write Name: value"),
]


@pytest.mark.parametrize(("values", "message"), MALFORMED)
def test_a_tuple_with_a_malformed_address_or_header_is_bad_data(values: tuple[str, str], message: str):
    inputs = ["url string, header string"]
    bench = Bench(HTTPRequest, inputs, url="url", fixedMethod="GET", extraHeaderAttribute="header")
    with pytest.raises(TupleError) as raised:
        bench.send([values])
    assert isinstance(raised.value.__cause__, DataError)
    assert str(raised.value.__cause__) == message


WRONG = [
    ("HTTPPost(Src) { }", "CDISP0208E"),
    ("HTTPPost(Src) { param url : $url; color : 1; }", "CDISP0054E"),
    ("HTTPRequest(Src) { param fixedUrl : $url; fixedMethod : FETCH; }", "CDISP0088E"),
]


@pytest.mark.parametrize(("invocation", "code"), WRONG)
def test_wrong_parameters_are_reported_as_streams_reports_them(tmp_path: Path, invocation: str, code: str):
    file = tmp_path / "Main.spl"
    source = SOURCE.format(type="int32 n", output="n = 5")
    file.write_text(MAIN.format(source=source, operator=f"stream<{RESPONSE}> Got = {invocation}"))
    _, found = read_tree(file)
    assert [each.code for each in errors_of(found)] == [code]
