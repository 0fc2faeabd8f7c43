"""An application that is stopped within an epoch, and wanted again, with a query of Spark's: product and model."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration_tests.protocol.committing import QUERY, SOURCE, committed
from streams_orchestration_tests.protocol.product import Product
from streams_orchestration_tests.protocol.steps import Protocol
from streams_orchestration_tests.protocol.topologies import topology
from streams_orchestration_tests.protocol.transactions import new_host
from streams_orchestration_tests.runtime.locked import deploy


@pytest.mark.parametrize(("name", "within"), [("query", True), ("chain of 3", False)])
def test_only_where_a_query_stands_within_an_epoch_its_region_goes_back_to_the_cut(
    tmp_path: Path, name: str, within: bool
):
    protocol = Protocol(topology(name), forgets=False)
    product, world = Product(tmp_path, protocol), protocol.start()
    for pe in (SOURCE, QUERY):
        world = committed(product, world, pe)
    assert [world.pes[pe].batch for pe in (SOURCE, QUERY)] == [0, 0]
    cancel_application(product.catalog, product.name, 0.0)
    deploy(product.home, deployable(protocol.topology.compilation), asks_spark=False)
    u = tables.unit
    with product.catalog.read() as connection:
        (unit,) = connection.execute(select(u.c.dirty, u.c.cause)).all()
    assert unit.dirty is within, "a reset begins as soon as all hosts are there, and nothing before it"
    assert ("a Spark query has no checkpoint" in (unit.cause or "")) is within
    world = new_host(protocol, world, QUERY)
    assert [world.pes[pe].batch for pe in (SOURCE, QUERY)] == ([-1, -1] if within else [0, 0])
