"""The logical graph: composites, values, inheritance, tuple types, routing, links, annotations."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.compilation import compile_application
from streams_orchestration.compiler.graph import (
    LogicalConnection,
    LogicalGraph,
    LogicalOperator,
    Routing,
    Tag,
    ThreadedPort,
    Threading,
)
from streams_orchestration.compiler.intrinsics import substitute_channels
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel import expand
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.specs import codes, graph, logical, physical, read

SOURCE: dict[str, Any] = {"name": "Src", "operator": "Source"}


def call(name: str, operator: str = "Work", inputs: Any = ("Src",), **parts: Any) -> dict[str, Any]:
    return {"name": name, "operator": operator, "inputs": list(inputs), **parts}


def built(application: Application, **options: Any) -> LogicalGraph:
    found, diagnostics = logical(application, **options)
    assert not diagnostics, diagnostics
    return found


def by_name(found: LogicalGraph) -> dict[str, LogicalOperator]:
    return {operator.name: operator for operator in found.operators}


def ends(found: LogicalGraph) -> list[tuple[str, int, str, int]]:
    names = [operator.name for operator in found.operators]
    return [(names[a], b, names[c], d) for a, b, c, d, _ in found.connections]


COMPOSITES: dict[str, Any] = {
    "Outer": {
        "inputs": ["Left", "Right"],
        "outputs": ["I", "J"],
        "graph": [
            {"name": "N", "operator": "Inner", "inputs": [["Left", "Right"]], "outputs": ["I"]},
            {"name": "J", "operator": "Work", "inputs": ["I", "Right"]},
        ],
    },
    "Inner": {
        "inputs": ["In"],
        "outputs": ["B"],
        "graph": [
            {"name": "A", "operator": "Work", "inputs": ["In", "In"]},
            {"name": "B", "operator": "Work", "inputs": ["A"]},
        ],
    },
}


def test_composites_are_seen_through() -> None:
    found = built(
        graph(
            SOURCE,
            call("Two", "Source", ()),
            call("Out", "Outer", ["Src", ["Two", "Src"]], outputs=["First", "Second"]),
            call("Snk", "Sink", [["First", "Second"]]),
            composites=COMPOSITES,
        )
    )
    assert [operator.name for operator in found.operators] == ["Src", "Two", "Out.N.A", "Out.N.B", "Out.J", "Snk"]
    assert by_name(found)["Out.N.A"].composites == ("Out", "Out.N")
    assert ends(found) == [
        *[("Src", 0, "Out.N.A", 0)] * 2,
        *[("Src", 0, "Out.N.A", 1)] * 2,
        ("Src", 0, "Out.J", 1),
        *(("Two", 0, "Out.N.A", 0), ("Two", 0, "Out.N.A", 1), ("Two", 0, "Out.J", 1)),
        ("Out.N.A", 0, "Out.N.B", 0),
        *(("Out.N.B", 0, "Out.J", 0), ("Out.N.B", 0, "Snk", 0)),
        ("Out.J", 0, "Snk", 0),
    ]
    assert found.connections[0].path == ("entered:Out.Left", "entered:Out.N.In")
    assert found.connections[1].path == ("entered:Out.Right", "entered:Out.N.In")
    leaving = [each for each in found.connections if each.target == 5]
    assert leaving[0] == LogicalConnection(3, 0, 5, 0, ("left:Out.N.B", "left:Out.I"))
    # A stream has the name of the outermost composite output that it leaves by.
    assert [each.outputs[0].stream for each in found.operators[2:5]] == ["Out.N.A", "First", "Second"]


def test_own_streams_hide_input_ports() -> None:
    composite = {
        "inputs": ["X"],
        "graph": [{"name": "X", "operator": "Source"}, {"name": "S", "operator": "Sink", "inputs": ["X"]}],
    }
    found, _ = logical(graph(SOURCE, call("C", "Comp"), composites={"Comp": composite}))
    assert ends(found) == [("C.X", 0, "C.S", 0)]


SUBMISSION = {
    "n": {"type": "int32", "default": 3},
    "x": {"type": "float64", "default": 2},
    "s": {"type": "rstring", "default": "text"},
    "b": {"type": "boolean", "default": True},
    "must": {"type": "int64"},
}


def test_submission_values_keep_their_type() -> None:
    parameters = {
        "a": "${n}",
        "b": "n=${n} x=${x} b=${b}",
        "c": ["${s}", {"d": "${ must }"}],
        "e": "${b}",
        "f": 5,
        "g": "$n",
    }
    parameters["h"] = "c${getChannel()} ${getLocalMaxChannels( )}"
    found = built(graph({**SOURCE, "parameters": parameters}, submission=SUBMISSION), submission={"must": "-7"})
    assert found.submission == {"n": 3, "x": 2.0, "s": "text", "b": True, "must": -7}
    assert found.operators[0].parameters == {
        "a": 3,
        "b": "n=3 x=2.0 b=true",
        "c": ["text", {"d": -7}],
        "e": True,
        "f": 5,
        "g": "$n",
        "h": "c${getChannel()} ${getLocalMaxChannels()}",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["SO0202"]),
        ({"must": "x"}, ["SO0203"]),
        ({"must": "9223372036854775808"}, ["SO0203"]),
        ({"must": "1", "n": "3000000000"}, ["SO0203"]),
        ({"must": "1", "x": "nan"}, ["SO0203"]),
        ({"must": "1", "b": "yes"}, ["SO0203"]),
        ({"must": "1", "musst": "2"}, ["SO0204"]),
        ({"must": "1", "x": "1e3", "b": "FALSE", "s": "", "n": " 4 "}, []),
    ],
)
def test_given_values(given: dict[str, str], expected: list[str]) -> None:
    _, diagnostics = logical(graph(SOURCE, submission=SUBMISSION), submission=given)
    assert codes(diagnostics) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${m}", "SO0201"),
        ("a ${m} b", "SO0201"),
        ("${getChanel()}", "SO0206"),
        ("${byChannel()}", "CDISP0116E"),
        ("byChannel()", "CDISP0116E"),
        ("byReplica()", "CDISP0116E"),
        ("a == byChannel() + ${n}", "CDISP0116E"),
    ],
)
def test_references_in_parameters(text: str, expected: str) -> None:
    _, diagnostics = logical(graph({**SOURCE, "parameters": {"p": [text]}}, submission={"n": SUBMISSION["n"]}))
    assert codes(diagnostics) == [expected]


def test_channel_functions_in_replicas() -> None:
    parameters = {
        "a": "${getChannel()}",
        "b": "${getLocalChannel()} of ${getLocalMaxChannels()}",
        "c": "${getAllChannels()}",
    }
    parameters["d"] = "${getAllMaxChannels()} ${getMaxChannels()}"
    inner = {
        "inputs": ["In"],
        "graph": [call("W", "Sink", ["In"], parameters=parameters, annotations={"parallel": {"width": 3}})],
    }
    application = graph(
        {**SOURCE, "parameters": parameters},
        call("C", "Comp", annotations={"parallel": {"width": 2}}),
        composites={"Comp": inner},
    )
    found = built(application)
    replicas = {operator.name: operator for operator in physical(application).operators}
    texts = {
        name: substitute_channels(found.operators[each.logical].parameters, each) for name, each in replicas.items()
    }
    assert texts["C[1].W[4]"] == {"a": 4, "b": "1 of 3", "c": [4, 1], "d": "[6,2] 6"}
    assert texts["Src"] == {"a": -1, "b": "-1 of 0", "c": [-1], "d": "[0] 0"}


# Widths


WIDTHS = {
    "w": {"type": "int32", "default": 4},
    "t": {"type": "rstring", "default": "five"},
    "f": {"type": "float64", "default": 2},
}


def width(value: Any, **options: Any) -> tuple[int, list[str]]:
    application = graph(SOURCE, call("R", annotations={"parallel": {"width": value}}), submission=WIDTHS)
    found, diagnostics = logical(application, **options)
    return found.regions[0].width, codes(diagnostics)


def test_widths() -> None:
    assert width(3) == (3, [])
    assert width("${w}") == (4, [])
    assert width("${w}", submission={"w": "6"}) == (6, [])
    assert width("${w}", submission={"w": "6"}, widths=(("R", 7),)) == (7, [])
    assert width(3, widths=(("R*", 7), ("R", 8))) == (7, [])
    assert width(3, widths=(("Q.*", 7),)) == (3, ["SO0207"])
    assert width("${w}", submission={"w": "0"}) == (1, ["CDISR1164E"])
    assert width(3, widths=(("*", 0),)) == (1, ["CDISR1164E"])
    assert width("${t}") == (1, ["CDISP0809E"])
    assert width("${t}", submission={"t": "5"}) == (5, [])
    assert width("${t}", submission={"t": "x"}) == (1, ["CDISR1164E"])
    assert width("${f}") == (1, ["CDISP0809E"])
    assert width("${nothing}") == (1, ["SO0201"])
    assert width("${getChannel()}") == (1, ["CDISP0682E"])


def test_width_origin_and_order_of_regions() -> None:
    """Per composite its own operators first, then what is inside each composite, then that composite (rule 4)."""
    inner = {
        "inputs": ["In"],
        "outputs": ["A"],
        "graph": [call("A", inputs=["In"], annotations={"parallel": {"width": "${w}"}})],
    }
    found = built(
        graph(
            SOURCE,
            call("C", "Comp", annotations={"parallel": {"width": 2, "replicateHostTags": ["x"]}}),
            call("B", inputs=["C"], annotations={"parallel": {"width": 3}}),
            composites={"Comp": inner},
            submission={"w": WIDTHS["w"]},
        )
    )
    assert [(each.name, each.width, each.parents, each.width_submission) for each in found.regions] == [
        ("B", 3, (), ""),
        ("C.A", 4, (2,), "w"),
        ("C", 2, (), ""),
    ]
    assert [operator.regions for operator in found.operators] == [(), (2, 1), (0,)]
    assert found.regions[2].replicate_host_tags == ("x",)


# Routing


FLIGHT = {"Flight": "carrier string, delay double", "Other": "carrier string"}
TYPED = {"name": "Src", "operator": "Beacon", "outputs": [{"stream": "Src", "schema": "Flight"}]}
PLAIN_SOURCE = {"name": "Two", "operator": "Beacon", "outputs": [{"stream": "Two", "schema": "Other"}]}


def routing(**parallel: Any) -> tuple[dict[str, Routing], list[str]]:
    application = graph(
        TYPED,
        PLAIN_SOURCE,
        {"name": "Three", "operator": "Source"},
        call(
            "R",
            inputs=["Src", {"streams": ["Two"], "name": "Named"}, ["Three"]],
            annotations={"parallel": {"width": 2, **parallel}},
        ),
        schemas=FLIGHT,
    )
    found, diagnostics = logical(application)
    return found.regions[0].routing, codes(diagnostics)


def test_routing() -> None:
    hashed = Routing("hash", ("delay", "carrier"))
    by = {"port": "in0", "attributes": ["delay", "carrier"]}
    assert routing() == ({}, [])
    assert routing(partitionBy=[by], broadcast=["Named"]) == ({"in0": hashed, "Named": Routing("broadcast")}, [])
    assert routing(partitionBy=[{**by, "port": "Src"}]) == ({"in0": hashed}, [])
    assert routing(partitionBy=[{**by, "port": "main.Src"}]) == ({"in0": hashed}, [])
    assert routing(broadcast=["Two"]) == ({"Named": Routing("broadcast")}, [])
    # Nothing is known of the third stream, so its attributes are not checked.
    assert routing(partitionBy=[{"port": "Three", "attributes": ["x"]}])[1] == []


@pytest.mark.parametrize(
    ("parallel", "expected"),
    [
        ({"partitionBy": [{"port": "Sorc", "attributes": ["delay"]}]}, ["CDISP0823E"]),
        ({"broadcast": ["Sorc"]}, ["CDISP0823E"]),
        ({"partitionBy": [{"port": "Src", "attributes": ["dely"]}]}, ["CDISP0824E"]),
        ({"partitionBy": [{"port": "Named", "attributes": ["delay"]}]}, ["CDISP0824E"]),
        ({"partitionBy": [{"port": "Src", "attributes": ["delay", "delay"]}]}, ["CDISP0825E"]),
        ({"broadcast": ["Src", "in0"]}, ["CDISP0852E"]),
        ({"broadcast": ["Src"], "partitionBy": [{"port": "in0", "attributes": ["delay"]}]}, ["CDISP0853E"]),
        (
            {"partitionBy": [{"port": "Src", "attributes": ["delay"]}, {"port": "in0", "attributes": ["carrier"]}]},
            ["CDISP0854E"],
        ),
    ],
)
def test_routing_errors(parallel: dict[str, Any], expected: list[str]) -> None:
    assert routing(**parallel)[1] == expected


def test_attributes_of_a_composites_port() -> None:
    composite = {"inputs": ["In"], "graph": [call("S", "Sink", ["In"])]}
    annotation = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["delay"]}]}}
    application = graph(
        TYPED,
        call("F", "Filter"),
        call("R", "Comp", ["F"], annotations=annotation),
        composites={"Comp": composite},
        schemas={"Flight": "carrier string"},
    )
    assert codes(logical(application)[1]) == ["CDISP0824E"]


# Tuple types


def test_standard_operators_keep_tuple_types() -> None:
    found = built(
        graph(
            TYPED,
            call("F", "Filter", outputs=["F", "G"]),
            call("D", "Delay", ["G"]),
            call("W", inputs=["D"]),
            call("T", "Throttle", ["W"]),
            {"name": "U", "operator": "Union", "inputs": ["F", "D"]},
            call("N", "Functor", ["U"], outputs=[{"stream": "N", "schema": "a  INT"}]),
            schemas={"Flight": FLIGHT["Flight"]},
        )
    )
    kept = "carrier string, delay double"
    types = {name: [output.schema for output in each.outputs] for name, each in by_name(found).items()}
    assert types == {
        "Src": [kept],
        "F": [kept, kept],
        "D": [kept],
        "W": [None],
        "T": [None],
        "U": [kept],
        "N": ["a int"],
    }


def test_tuple_types_pass_loops_and_composites() -> None:
    composite = {
        "inputs": ["In"],
        "outputs": ["B"],
        "graph": [call("A", "Filter", [["In", "B"]]), call("B", "Throttle", ["A"])],
    }
    found, _ = logical(graph(TYPED, call("C", "Comp"), composites={"Comp": composite}, schemas={"Flight": "x int"}))
    assert by_name(found)["C.B"].outputs[0].schema == "x int"


def test_streams_of_one_port_have_one_type() -> None:
    application = graph(TYPED, PLAIN_SOURCE, call("S", "Sink", [["Src", "Two"]]), schemas=FLIGHT)
    assert codes(logical(application)[1]) == ["SO0304"]


# Ports


def test_ports_of_operators() -> None:
    operators = {
        "Mutating": {
            "implementation": "a.b:C",
            "inputs": [{"mutable": True}, {"mutates": ["delay"]}, {"control": True}],
            "outputs": [{"mutable": True}, {"generatesWindowPunctuation": True}],
            "stateful": True,
            "waits": [{"port": 0, "for": 1}, {"port": 0, "for": 9}],
            "consistent": {"member": True, "start": False, "reason": "why"},
        }
    }
    found = built(
        graph(
            TYPED,
            call("M", "Mutating", ["Src", "Src", "Src", {"streams": ["Src"], "name": "last"}], outputs=["M", "N", "O"]),
            call("C", "a.b:C", [{"streams": ["M"], "control": True}]),
            schemas={"Flight": FLIGHT["Flight"]},
            operators=operators,
        )
    )
    mutating, direct = found.operators[1:3]
    assert mutating.implementation == direct.implementation == "a.b:C"
    assert [(port.name, port.mutable, port.mutates, port.control) for port in mutating.inputs] == [
        ("in0", True, None, False),
        ("in1", True, ("delay",), False),
        ("in2", False, None, True),
        ("last", False, None, True),
    ]
    assert [(port.mutable, port.generates_window_punctuation) for port in mutating.outputs] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert (mutating.stateful, mutating.may_start, mutating.region_reason) == (True, False, "why")
    assert mutating.waits == ((0, 1),)
    assert [(port.mutable, port.control) for port in direct.inputs] == [(False, True)]
    assert direct.outputs[0].mutable


def test_unknown_mutated_attributes() -> None:
    operators = {"M": {"inputs": [{"mutates": ["dely"]}], "outputs": []}}
    application = graph(TYPED, call("X", "M"), schemas={"Flight": FLIGHT["Flight"]}, operators=operators)
    _, diagnostics = logical(application)
    assert codes(diagnostics) == ["SO0306"]
    assert "delay" in diagnostics[0].message


def test_custom_ports() -> None:
    """A Custom without outputs that leaves a port's tuples alone has that port immutable (rule 79)."""
    found = built(
        graph(
            SOURCE,
            call(
                "A",
                "Custom",
                [{"streams": ["Src"], "mutates": []}, "Src", {"streams": ["Src"], "control": True}],
                outputs=[],
            ),
            call("B", "Custom", [{"streams": ["Src"], "mutates": []}]),
        )
    )
    sink, other = found.operators[1:]
    assert [port.mutable for port in sink.inputs] == [False, True, True]
    assert sink.submits == (True, True, False)
    assert (other.inputs[0].mutable, other.inputs[0].mutates) == (True, ())


def test_declared_operators_take_the_place_of_standard_ones() -> None:
    found = built(
        graph({"name": "F", "operator": "Filter"}, operators={"Filter": {"inputs": [], "implementation": "a:B"}})
    )
    assert (found.operators[0].implementation, found.operators[0].kind) == ("a:B", "Filter")


@pytest.mark.parametrize(
    ("operator", "window", "expected"),
    [
        ("Aggregate", "tumbling, count(5)", "Always"),
        ("Aggregate", "sliding, count(5), time(3)", "Never"),
        ("Aggregate", "sliding, time(5), count(3)", "Always"),
        ("Sort", "sliding, time(5), count(3)", "Never"),
        ("Sort", {"type": "sliding", "eviction": "count(5)", "trigger": {"time": 5}}, "Always"),
        ("Sort", {"eviction": {"time": 5}}, "Never"),
        ("Delay", None, "Never"),
        ("Filter", None, "Always"),
    ],
)
def test_single_threaded_with_windows(operator: str, window: Any, expected: str) -> None:
    parameters = {} if window is None else {"window": window}
    found, _ = logical(graph(SOURCE, call("X", operator, parameters=parameters)))
    assert found.operators[1].single_threaded == expected


def test_windows_by_port() -> None:
    windows = [{"in0": "sliding, time(1)", "in1": "sliding, count(1)"}, ["sliding, count(1)", "sliding, time(1)"]]
    for window in windows:
        application = graph(
            SOURCE, call("Two", "Source", ()), call("J", "Join", ["Src", "Two"], parameters={"window": window})
        )
        found, _ = logical(application)
        assert found.operators[2].single_threaded == "Never"


# Imports, exports, job control planes


def test_links() -> None:
    imported = {"name": "I", "operator": "Import", "inputs": [], "parameters": {"subscription": 'k == "${s}"'}}
    composite = {
        "inputs": ["In"],
        "graph": [call("S", "Sink", ["In"]), call("E", "Export", ["In"], parameters={"streamId": "id"})],
    }
    found = built(
        graph(
            {**imported, "annotations": {"autonomous": True}},
            SOURCE,
            call("C", "Comp", [["I", "Src"]]),
            composites={"Comp": {**composite, "graph": [composite["graph"][0]]}},
            submission={"s": SUBMISSION["s"]},
        )
    )
    assert [(each.kind, each.name, each.operator, each.port, each.autonomous) for each in found.imports] == [
        ("import", "I", 1, 0, True)
    ]
    assert found.imports[0].parameters == {"subscription": 'k == "text"'}
    found = built(graph(SOURCE, call("C", "Comp"), composites={"Comp": composite}))
    assert [(each.name, each.operator, each.composites) for each in found.exports] == [("C.E", 0, ("C",))]
    _, diagnostics = logical(
        graph(imported, call("C", "Comp", ["I"]), composites={"Comp": composite}, submission={"s": SUBMISSION["s"]})
    )
    assert codes(diagnostics) == ["SO0406"]


@pytest.mark.parametrize(
    ("invocation", "expected"),
    [
        ({"name": "I", "operator": "Import", "parameters": {"subscription": "x", "streamId": "y"}}, ["SO0405"]),
        ({"name": "I", "operator": "Import"}, ["SO0405"]),
        ({"name": "I", "operator": "Import", "parameters": {"subscripton": "x"}}, ["SO0405", "SO0405"]),
        (call("E", "Export", parameters={"properties": {"a": 1}, "streamId": "x"}), ["SO0405"]),
        (call("E", "Export", parameters={"streamId": "x"}, annotations={"parallel": {"width": 2}}), ["CDISP0815E"]),
        (
            call(
                "E", "Export", parameters={"streamId": "x"}, annotations={"consistent": {"trigger": "operatorDriven"}}
            ),
            ["CDISP0815E"],
        ),
        ({"name": "J", "operator": "JobControlPlane", "annotations": {"autonomous": True}}, ["CDISP0849E"]),
        ({"name": "J", "operator": "JobControlPlane", "annotations": {"parallel": {"width": 2}}}, ["CDISP0848E"]),
        (
            {
                "name": "J",
                "operator": "JobControlPlane",
                "annotations": {"consistent": {"trigger": "operatorDriven"}},
            },
            ["CDISP0849E"],
        ),
    ],
)
def test_link_errors(invocation: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(ApplicationError) as caught:
        graph(SOURCE, invocation)
    assert codes(caught.value.diagnostics) == expected


def test_job_control_planes() -> None:
    plane = {"name": "J", "operator": "JobControlPlane"}
    found = built(graph(SOURCE, plane))
    assert [operator.name for operator in found.operators] == ["Src"]
    assert codes(logical(graph(SOURCE, plane, {**plane, "name": "K"}))[1]) == ["CDISP0846E"]
    composite = {"graph": [plane]}
    application = graph(
        SOURCE,
        {"name": "C", "operator": "Comp", "annotations": {"parallel": {"width": 2}}},
        composites={"Comp": composite},
    )
    assert codes(logical(application)[1]) == ["CDISP0848E"]


# Inheritance


def placed(**placement: Any) -> dict[str, Any]:
    return {"config": {"placement": placement}}


def test_the_nearest_config_supplies_a_whole_group() -> None:
    """Own, then invocations inner to outer, then definitions inner to outer, then the application (rules 42, 43)."""
    composites = {
        "Outer": {
            "inputs": ["In"],
            **placed(host="h-outer", partitionColocation="outer-definition"),
            "graph": [call("I", "Inner", ["In"], config={"restartable": False})],
        },
        "Inner": {
            "inputs": ["In"],
            **placed(partitionColocation="inner-definition", partitionExlocation="x", hostExlocation="e"),
            "graph": [
                call("A", "Sink", ["In"]),
                call("B", "Sink", ["In"], **placed(partitionIsolation=True)),
                call("C", "Sink", ["In"], **placed(hostColocation=["p", "${getChannel()}"])),
            ],
        },
    }
    found = by_name(
        logical(
            graph(
                SOURCE,
                call("O1", "Outer", **placed(partitionColocation="outer-invocation")),
                call("O2", "Outer"),
                composites=composites,
                config={"placement": {"hostPool": "p", "hostIsolation": True}, "checkpoint": {"periodic": 5}},
                hostPools=[{"name": "p"}],
            )
        )[0]
    )
    plain = {name: [tag.text for tag in each.partition.colocation] for name, each in found.items()}
    assert plain["O1.I.A"] == ["outer-invocation"]
    assert plain["O2.I.A"] == ["inner-definition"]
    assert found["O1.I.A"].partition.exlocation == (), "nothing is merged"
    assert [tag.text for tag in found["O2.I.A"].partition.exlocation] == ["x"]
    assert (found["O1.I.B"].partition.isolation, plain["O1.I.B"]) == (True, [])
    assert [tag.text for tag in found["O1.I.B"].host_placement.exlocation] == ["e"]
    assert [tag.text for tag in found["O1.I.C"].host_placement.colocation] == ["p", "${getChannel()}"]
    assert found["O1.I.C"].host_placement.exlocation == ()
    assert (found["O1.I.A"].host, found["O1.I.A"].host_pool) == ("h-outer", None)
    assert (found["Src"].host, found["Src"].host_pool, found["Src"].host_placement.isolation) == (None, "p", True)
    assert (found["O1.I.A"].restartable, found["O1.I.A"].relocatable) == (False, False)
    assert (found["Src"].restartable, found["Src"].checkpoint, found["Src"].checkpoint_period) == (
        True,
        "periodic",
        5.0,
    )


def tags(application: Application, name: str, **options: Any) -> tuple[Tag, ...]:
    return by_name(logical(application, **options)[0])[name].partition.colocation


def nested(own: Any = None, inner: Any = None, outer: Any = None, main: Any = None) -> Application:
    def config(tag: Any) -> dict[str, Any]:
        return {} if tag is None else placed(partitionColocation=tag)

    composites = {
        "Outer": {
            "inputs": ["In"],
            "graph": [call("I", "Inner", ["In"], annotations={"parallel": {"width": 2}}, **config(inner))],
        },
        "Inner": {
            "inputs": ["In"],
            "graph": [call("A", "Sink", ["In"], annotations={"parallel": {"width": 2}}, **config(own))],
        },
    }
    return graph(
        SOURCE,
        call("O", "Outer", annotations={"parallel": {"width": 2}}, **config(outer)),
        composites=composites,
        **(config(main) if main is not None else {}),
    )


def test_by_channel_belongs_to_the_introducing_operator() -> None:
    assert tags(nested(own="byChannel()"), "O.I.A") == (Tag("byChannel", "O.I.A", 2),)
    assert tags(nested(inner="byChannel()"), "O.I.A") == (Tag("byChannel", "O.I", 1),)
    assert tags(nested(outer=["byChannel()", "t"]), "O.I.A") == (Tag("byChannel", "O", 0), Tag("plain", "t"))
    assert tags(nested(outer="byReplica()"), "O.I.A") == (Tag("byReplica", "O"),)
    # Introduced outside of all regions it names the outermost level.
    assert tags(nested(main="byChannel()"), "O.I.A") == (Tag("byChannel", "test", 0),)
    assert tags(nested(outer="x_byChannel()"), "O.I.A")[0].kind == "plain"
    assert codes(logical(nested(outer="x_byChannel()"))[1]) == ["SO0010"]


def test_by_channel_by_text_when_faithful() -> None:
    """Streams looks the introducer up by equal text from the inside, though an outer invocation won (rule 46)."""
    application = nested(outer="byChannel()")
    composites = {name: each.model_dump(exclude_unset=True) for name, each in application.composites.items()}
    composites["Inner"]["config"] = {"placement": {"partitionColocation": "byChannel()"}}
    changed = application.model_dump(exclude_unset=True) | {"composites": composites}
    both = application_from_mapping(changed)
    assert tags(both, "O.I.A") == (Tag("byChannel", "O", 0),)
    assert tags(both, "O.I.A", faithful=True) == (Tag("byChannel", "O.I", 1),)


@pytest.mark.parametrize(
    ("config", "flags", "expected"),
    [
        ({}, (True, True), []),
        ({"restartable": False}, (False, False), []),
        ({"relocatable": False}, (True, False), []),
        ({"relocatable": True}, (True, True), []),
        ({"restartable": "${b}"}, (True, True), []),
        ({"restartable": "${n}"}, (True, True), ["SO0009"]),
        ({"restartable": False, "checkpoint": "operatorDriven"}, (False, False), ["CDISP0429W"]),
        ({"checkpoint": {"periodic": "${z}"}}, (True, True), ["CDISP0410E"]),
        ({"placement": {"hostPool": "p${n}"}}, (True, True), ["SO0404"]),
    ],
)
def test_restart_and_checkpoint(config: dict[str, Any], flags: tuple[bool, bool], expected: list[str]) -> None:
    values = {**{name: SUBMISSION[name] for name in ("b", "n")}, "z": {"type": "float64", "default": 0.0}}
    found, diagnostics = logical(graph({**SOURCE, "config": config}, submission=values))
    assert (found.operators[0].restartable, found.operators[0].relocatable) == flags
    assert codes(diagnostics) == expected


def test_threaded_ports() -> None:
    queues = [{"port": 1, "congestionPolicy": "Sys.DropLast", "queueSize": 5}, {"port": 0}]
    found = built(graph(SOURCE, call("A", inputs=["Src", "Src"], config={"threadedPort": queues})))
    assert found.operators[1].threaded_ports == (ThreadedPort(0), ThreadedPort(1, "Sys.DropLast", 5))


def test_threading_of_the_innermost_composite() -> None:
    """The invocation wins over the definition, the inner over the outer, both over the submission (rules 67, 68)."""

    def threaded(model: str | None, **more: Any) -> dict[str, Any]:
        return {"annotations": {"threading": {"model": model, **more}}} if model else {}

    def threading(
        inner: Any = None, inside: Any = None, outer: Any = None, main: Any = None, **options: Any
    ) -> Threading:
        composites = {
            "Outer": {"inputs": ["In"], "graph": [call("I", "Inner", ["In"], **threaded(inner))]},
            "Inner": {"inputs": ["In"], **threaded(inside), "graph": [call("A", "Sink", ["In"])]},
        }
        application = graph(
            SOURCE,
            call(
                "O", "Outer", **threaded(outer, threads="${n}", elastic=True) if outer == "dynamic" else threaded(outer)
            ),
            composites=composites,
            submission={"n": SUBMISSION["n"]},
            **threaded(main),
        )
        return by_name(logical(application, **options)[0])["O.I.A"].threading

    assert threading() == Threading()
    assert threading(threading="manual") == Threading("manual")
    assert threading(main="dedicated", threading="manual") == Threading("dedicated", True)
    assert threading(outer="dynamic", main="dedicated") == Threading("dynamic", True, 3, True)
    assert threading(inside="manual", outer="dedicated") == Threading("manual", True)
    assert threading(inner="automatic", inside="manual") == Threading("automatic", True)


# Annotations


CONSISTENT = {
    "consistent": {"trigger": "periodic", "period": "${x}", "drainTimeout": 5, "maxConsecutiveResetAttempts": "${n}"}
}


def test_annotations_in_the_order_of_the_walk() -> None:
    """A composite's own, then nested composites, then its primitives (A13)."""
    driven = {"consistent": {"trigger": "operatorDriven"}}
    composites = {
        "Comp": {
            "outputs": ["P"],
            "graph": [
                call("P", "Source", (), annotations=driven),
                call("N", "Nested", (), annotations={"autonomous": True}),
            ],
        },
        "Nested": {"graph": [call("Q", "Source", (), annotations=CONSISTENT)]},
    }
    application = graph(
        call("A", "Source", (), annotations=driven),
        call("C", "Comp", (), annotations=driven),
        composites=composites,
        submission={name: SUBMISSION[name] for name in ("n", "x")},
    )
    found = built(application).annotations
    assert [(each.kind, each.scope, each.composite) for each in found] == [
        ("consistent", "C", True),
        ("autonomous", "C.N", True),
        ("consistent", "C.N.Q", False),
        ("consistent", "C.P", False),
        ("consistent", "A", False),
    ]
    assert found[2].values == {"period": 2.0, "drainTimeout": 5.0, "maxConsecutiveResetAttempts": 3}
    assert found[2].submission == {"period": "x", "maxConsecutiveResetAttempts": "n"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"period": 0}, ["SO0401"]),
        ({"period": -1.5, "drainTimeout": 0.0, "resetTimeout": -1}, ["SO0401"] * 3),
        ({"period": 1, "maxConsecutiveResetAttempts": 0}, ["SO0401"]),
        ({"period": "${s}"}, ["CDISP0811E"]),
        ({"period": 1, "maxConsecutiveResetAttempts": "${x}"}, ["CDISP0811E"]),
        ({"period": "${getChannel()}"}, ["CDISP0682E"]),
        ({"period": "${q}"}, ["SO0201"]),
        ({"period": "${n}"}, []),
    ],
)
def test_annotation_values(values: dict[str, Any], expected: list[str]) -> None:
    annotation = {"consistent": {"trigger": "periodic", **values}}
    names = {name: SUBMISSION[name] for name in ("n", "x", "s")}
    _, diagnostics = logical(graph({**SOURCE, "annotations": annotation}, submission=names))
    assert codes(diagnostics) == expected


def test_what_is_not_used_is_a_warning() -> None:
    from streams_orchestration.compiler.logical import build_logical_graph

    application = graph(
        {**SOURCE, "outputs": ["Src"]},
        schemas={"T": "a int"},
        submission={"n": SUBMISSION["n"]},
        composites={"C": {"graph": [SOURCE]}},
    )
    _, diagnostics = build_logical_graph(application, Options())
    texts = [each.message for each in diagnostics]
    assert {each.severity for each in diagnostics} == {"warning"}
    assert len(texts) == 6
    for part in ("stream Src", "value n", "schema T", "operator Sink", "operator Work", "composite C"):
        assert any(part in text for text in texts)


def test_errors_of_all_stages_in_one_run() -> None:
    application = graph(
        {**SOURCE, "annotations": {"consistent": {"trigger": "operatorDriven"}}},
        call("Two", "Source", (), annotations={"consistent": {"trigger": "operatorDriven"}}),
        call("R", annotations={"parallel": {"width": 2, "broadcast": ["Nothing"]}}),
        call("E", "Expecting", ["R"]),
        call("S", "Sink", ["Src", "Two"]),
        operators={"Expecting": {"inputs": [{"expectsWindowPunctuation": True}], "outputs": []}},
    )
    with pytest.raises(ApplicationError) as caught:
        compile_application(application)
    found = set(codes(caught.value.diagnostics))
    assert {"CDISP0823E", "CDISP0819E", "CDISP0835E"} <= found


def test_an_application_with_wrong_names_stops_there() -> None:
    application = Application(application="a", graph=({"name": "S", "operator": "FileSink", "inputs": ["Src"]},))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ApplicationError) as caught:
        compile_application(application)
    assert codes(caught.value.diagnostics) == ["SO0102"]


def test_deep_nesting_is_refused_without_a_traceback() -> None:
    composites: dict[str, Any] = {
        f"C{level}": {"graph": [{"name": "X", "operator": f"C{level + 1}"}]} for level in range(3000)
    }
    composites["C3000"] = {"graph": [SOURCE]}
    with pytest.raises(ApplicationError) as caught:
        graph({"name": "X", "operator": "C0"}, composites=composites)
    assert codes(caught.value.diagnostics) == ["SO0106"]


def test_composites_that_open_up_without_end_are_refused() -> None:
    composites: dict[str, Any] = {
        f"C{level}": {"graph": [{"name": name, "operator": f"C{level + 1}"} for name in "ABCDEFGHIJ"]}
        for level in range(9)
    }
    composites["C9"] = {"graph": [SOURCE]}
    with pytest.raises(ApplicationError) as caught:
        compile_application(graph({"name": "X", "operator": "C0"}, composites=composites))
    assert "SO0501" in codes(caught.value.diagnostics)


def test_atomic_tags_reach_into_composites() -> None:
    composite = {
        "inputs": ["In"],
        "graph": [call("A", "Sink", ["In"]), call("B", "Sink", ["In"], annotations={"atomic": "own"})],
    }
    application = graph(SOURCE, call("C", "Comp", annotations={"atomic": "t"}), composites={"Comp": composite})
    assert [each.atomic for each in built(application).operators] == [None, "t", "own"]


def test_what_one_line_makes_wrong_is_told_once() -> None:
    text = """\
application: a
composites:
  C: {graph: [{name: A, operator: Beacon, parameters: {p: "${q}"}}]}
graph: [{name: X, operator: C}, {name: Y, operator: C}]
"""
    with pytest.raises(ApplicationError) as caught:
        compile_application(read(text))
    assert [(each.code, each.operator) for each in caught.value.diagnostics] == [("SO0201", "X.A")]


def test_expansion_of_a_graph_in_error_does_not_fail() -> None:
    found, diagnostics = logical(graph(SOURCE, call("R", annotations={"parallel": {"width": "${nothing}"}})))
    assert codes(diagnostics) == ["SO0201"]
    assert len(expand(found, Options())[0].operators) == 2
