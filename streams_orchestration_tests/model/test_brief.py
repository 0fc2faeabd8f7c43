from __future__ import annotations

import pytest

from streams_orchestration.model.brief import duration, plural, short_list, without_channels


def test_replicas_are_shown_as_one():
    assert short_list(["Src", "Out[0].A", "Out[1].A", "Out[2].A"]) == "Src, Out.A ×3"
    assert short_list(["Out[1].A"]) == "Out[1].A"


def test_names_that_do_not_fit_are_counted():
    assert short_list([f"Operator{number}" for number in range(10)], width=24) == "Operator0, Operator1 +8"
    assert short_list(["ANameThatIsLongerThanTheWidth", "B"], width=5) == "ANameThatIsLongerThanTheWidth +1"
    assert short_list([]) == ""


def test_a_logical_name_has_no_channels():
    assert without_channels("P1[1].H2[5]") == "P1.H2"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (0.44, "0.4 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7440, "2 h 4 min"),
        (18_399_000, "212 d 22 h"),
    ],
)
def test_a_duration_has_a_suitable_unit(seconds: float, text: str):
    assert duration(seconds) == text


def test_a_count_has_its_noun_in_the_right_number():
    assert [plural(number, "row") for number in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]
