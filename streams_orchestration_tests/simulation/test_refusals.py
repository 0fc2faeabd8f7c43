"""The error about a damaged file that ends a simulation."""

from streams_orchestration_tests.simulation.refusals import REFUSED_SECONDS, Damage


def test_an_error_about_a_damaged_file_is_the_last_word_only_if_it_stays_without_a_complete_epoch():
    damage = Damage()
    checks = [(3, 100.0), (3, 101.0), (4, 110.0), (4, 125.0), (4, 110.1 + REFUSED_SECONDS)]
    assert [damage.is_last_word(epochs, now) for epochs, now in checks] == [False, False, False, False, True]
