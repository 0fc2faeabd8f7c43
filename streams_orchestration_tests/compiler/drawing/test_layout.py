from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.drawing.layout import Layout, place

SIZE = (40.0, 20.0)


def lay(edges: list[tuple[int, int]], count: int, **more: object) -> Layout[int]:
    return place(dict.fromkeys(range(count), SIZE), edges, column_gap=30, row_gap=10, **more)  # pyright: ignore[reportArgumentType]


def test_a_chain_is_a_straight_line():
    found = lay([(0, 1), (1, 2)], 3)
    assert [found.corners[node] for node in range(3)] == [(0, 0), (70, 0), (140, 0)]
    assert (found.width, found.height) == (180, 20)


def test_a_source_stands_next_to_its_consumer():
    found = lay([(0, 1), (1, 2), (3, 2)], 4)
    assert found.corners[3][0] == found.corners[1][0]


def test_a_long_edge_goes_around_what_it_passes():
    found = lay([(0, 1), (1, 2), (0, 2)], 3)
    (left, y), (right, same) = found.bends[2]
    assert (left, right) == (70, 110)
    assert y == same
    top = found.corners[1][1]
    assert not top < y < top + SIZE[1]


def test_crossings_are_undone():
    found = lay([(0, 3), (1, 2)], 4)
    assert (found.corners[0][1] < found.corners[1][1]) == (found.corners[3][1] < found.corners[2][1])


def test_pinned_nodes_stand_at_the_ends():
    found = lay([(0, 1), (1, 2)], 4, pinned={3: "first", 0: "last"})
    xs = {node: corner[0] for node, corner in found.corners.items()}
    assert xs[3] == min(xs.values())
    assert xs[0] == max(xs.values())
    assert min(xs[1], xs[2]) > xs[3]


def test_nothing_is_drawn_of_nothing():
    found = lay([], 0)
    assert (found.width, found.height, found.corners) == (0, 0, {})


EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@given(EDGES)
def test_boxes_never_overlap_and_the_picture_holds_them(edges: list[tuple[int, int]]):
    found = lay(edges, 10)
    for a, b in combinations(found.corners.values(), 2):
        assert abs(a[0] - b[0]) >= SIZE[0] or abs(a[1] - b[1]) >= SIZE[1] - 1e-6
    for x, y in found.corners.values():
        assert -1e-6 <= x <= found.width - SIZE[0] + 1e-6
        assert -1e-6 <= y <= found.height - SIZE[1] + 1e-6


@given(EDGES)
def test_edges_run_to_the_right_unless_there_is_a_cycle(edges: list[tuple[int, int]]):
    forward = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    found = lay(forward, 10)
    assert all(found.corners[a][0] < found.corners[b][0] for a, b in forward)


@given(EDGES)
def test_the_same_graph_gives_the_same_picture(edges: list[tuple[int, int]]):
    assert lay(edges, 10) == lay(edges, 10)
