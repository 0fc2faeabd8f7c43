from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.drawing.layout import Layout, place

SIZE = (40.0, 20.0)


def lay(edges: list[tuple[int, int]], count: int, **more: object) -> Layout[int]:
    return place(dict.fromkeys(range(count), SIZE), edges, column_gap=30, row_gap=10, **more)  # pyright: ignore[reportArgumentType]


def test_a_chain_is_a_straight_line():
    actual = lay([(0, 1), (1, 2)], 3)
    assert [actual.corners[node] for node in range(3)] == [(0, 0), (70, 0), (140, 0)]
    assert (actual.width, actual.height) == (180, 20)


def test_a_source_stands_next_to_its_consumer():
    actual = lay([(0, 1), (1, 2), (3, 2)], 4)
    assert actual.corners[3][0] == actual.corners[1][0]


def test_a_long_edge_goes_around_what_it_passes():
    actual = lay([(0, 1), (1, 2), (0, 2)], 3)
    (left, y), (right, same) = actual.bends[2]
    assert (left, right) == (70, 110)
    assert y == same
    top = actual.corners[1][1]
    assert not top < y < top + SIZE[1]


def test_crossings_are_undone():
    actual = lay([(0, 3), (1, 2)], 4)
    assert (actual.corners[0][1] < actual.corners[1][1]) == (actual.corners[3][1] < actual.corners[2][1])


def test_pinned_nodes_stand_at_the_ends():
    actual = lay([(0, 1), (1, 2)], 4, pinned={3: "first", 0: "last"})
    xs = {node: corner[0] for node, corner in actual.corners.items()}
    assert xs[3] == min(xs.values())
    assert xs[0] == max(xs.values())
    assert min(xs[1], xs[2]) > xs[3]


def test_nothing_is_drawn_of_nothing():
    actual = lay([], 0)
    assert (actual.width, actual.height, actual.corners) == (0, 0, {})


EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@given(EDGES)
def test_boxes_never_overlap_and_the_picture_holds_them(edges: list[tuple[int, int]]):
    actual = lay(edges, 10)
    for a, b in combinations(actual.corners.values(), 2):
        assert abs(a[0] - b[0]) >= SIZE[0] or abs(a[1] - b[1]) >= SIZE[1] - 1e-6
    for x, y in actual.corners.values():
        assert -1e-6 <= x <= actual.width - SIZE[0] + 1e-6
        assert -1e-6 <= y <= actual.height - SIZE[1] + 1e-6


@given(EDGES)
def test_edges_run_to_the_right_unless_there_is_a_cycle(edges: list[tuple[int, int]]):
    forward = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    actual = lay(forward, 10)
    assert all(actual.corners[a][0] < actual.corners[b][0] for a, b in forward)


@given(EDGES)
def test_the_same_graph_gives_the_same_picture(edges: list[tuple[int, int]]):
    assert lay(edges, 10) == lay(edges, 10)
