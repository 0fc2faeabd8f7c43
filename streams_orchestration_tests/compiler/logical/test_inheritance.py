"""Configs and threading that an operator inherits from what encloses it."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.logical_graph import Tag, ThreadedPort, Threading
from streams_orchestration.model.application import Application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.compiler.invocations import SOURCE, SUBMISSION, built, by_name, call
from streams_orchestration_tests.specs import codes, graph, logical


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
    actual = by_name(
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
    plain = {name: [tag.text for tag in each.partition.colocation] for name, each in actual.items()}
    assert plain["O1.I.A"] == ["outer-invocation"]
    assert plain["O2.I.A"] == ["inner-definition"]
    assert actual["O1.I.A"].partition.exlocation == (), "nothing is merged"
    assert [tag.text for tag in actual["O2.I.A"].partition.exlocation] == ["x"]
    assert (actual["O1.I.B"].partition.isolation, plain["O1.I.B"]) == (True, [])
    assert [tag.text for tag in actual["O1.I.B"].host_placement.exlocation] == ["e"]
    assert [tag.text for tag in actual["O1.I.C"].host_placement.colocation] == ["p", "${getChannel()}"]
    assert actual["O1.I.C"].host_placement.exlocation == ()
    assert (actual["O1.I.A"].host, actual["O1.I.A"].host_pool) == ("h-outer", None)
    assert (actual["Src"].host, actual["Src"].host_pool, actual["Src"].host_placement.isolation) == (None, "p", True)
    assert (actual["O1.I.A"].restartable, actual["O1.I.A"].relocatable) == (False, False)
    assert (actual["Src"].restartable, actual["Src"].checkpoint, actual["Src"].checkpoint_period) == (
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
    actual, diagnostics = logical(graph({**SOURCE, "config": config}, submission=values))
    assert (actual.operators[0].restartable, actual.operators[0].relocatable) == flags
    assert codes(diagnostics) == expected


def test_threaded_ports_are_in_order_with_their_policies() -> None:
    queues = [{"port": 1, "congestionPolicy": "Sys.DropLast", "queueSize": 5}, {"port": 0}]
    actual = built(graph(SOURCE, call("A", inputs=["Src", "Src"], config={"threadedPort": queues})))
    assert actual.operators[1].threaded_ports == (ThreadedPort(0), ThreadedPort(1, "Sys.DropLast", 5))


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
