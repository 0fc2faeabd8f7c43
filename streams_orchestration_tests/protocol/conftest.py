from streams_orchestration_tests.runtime.conftest import volatile

__all__ = ["volatile"]
