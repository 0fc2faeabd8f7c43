from streams_orchestration_tests.runtime.conftest import compiled_once, no_disk, no_real_hosts

__all__ = ["compiled_once", "no_disk", "no_real_hosts"]
