from __future__ import annotations

import os
import signal
import threading

import pytest

from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts


def test_the_first_signal_is_a_request_and_the_second_leaves():
    calls: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(lambda: calls.append("first")) as interrupts:
        assert not interrupts.requested
        assert not interrupts.pause(0)
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.pause(10)
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert calls == ["first"]
    assert interrupts.exit_status == 130
    assert signal.getsignal(signal.SIGINT) is before


def test_a_request_to_terminate_has_its_own_status():
    with Interrupts(lambda: None) as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.pause(10)
    assert interrupts.exit_status == 143


def test_a_pause_ends_when_there_is_nothing_more_to_wait_for():
    checks = iter((False, False, True))
    with Interrupts(lambda: None) as interrupts:
        assert not interrupts.pause(3600.0, lambda: next(checks))
    assert next(checks, None) is None


def test_background_gives_back_result_and_error():
    assert BackgroundCall(threading.current_thread).result() is not threading.current_thread()

    def fail() -> None:
        message = "no"
        raise ValueError(message)

    with pytest.raises(ValueError, match="no"):
        BackgroundCall(fail).result()


def test_background_can_be_waited_for_a_while():
    gate = threading.Event()
    background = BackgroundCall(gate.wait)
    assert not background.wait(0)
    gate.set()
    assert background.result()
