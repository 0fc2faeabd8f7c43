"""A batch that is committed, in product and model."""

from __future__ import annotations

from streams_orchestration_tests.protocol.product import Product
from streams_orchestration_tests.protocol.world import World

SOURCE, QUERY = 0, 1


def committed(product: Product, world: World, pe: int) -> World:
    """Return the first batch that a PE can make, in both."""
    protocol = product.protocol
    begun = next(o for step, o in protocol.steps(world) if step[:2] == ("begin", pe))
    world = protocol.after(begun)
    assert product.commit(pe, world.flights[pe][0])
    done = next(o for step, o in protocol.steps(world) if step[:2] == ("commit", pe))
    return protocol.after(done)
