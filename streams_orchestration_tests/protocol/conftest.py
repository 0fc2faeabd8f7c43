from streams_orchestration_tests.runtime.conftest import no_real_hosts, volatile

__all__ = ["no_real_hosts", "volatile"]
