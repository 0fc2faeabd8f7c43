from streams_orchestration_tests.runtime.conftest import no_disk, no_hosts, no_real_hosts

__all__ = ["no_disk", "no_hosts", "no_real_hosts"]
