"""The distribution of tests to the workers of xdist by their groups, quickly for thousands of groups."""

from __future__ import annotations

from collections.abc import Mapping

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

MOST_TESTS = 32
"""The most tests without a group that a worker gets at once."""
LEAST_PARTS = 8
"""The least number of parts, for each worker, into which the rest is divided: no worker waits long at the end."""


class QuickGroupScheduling(LoadGroupScheduling):
    """A distribution by groups that forgets a group with its last test, and knows the number of each test.

    Each test without a group is a group. After each test, xdist goes through all groups of a worker, and through all
    tests to the number of the next one. A worker gets several tests of a module at once. Otherwise each worker would
    have tests of each module, and make what these share, such as their input files and databases.
    """

    _numbers: Mapping[str, int] | None = None
    """Test -> its number in each worker, once tests are distributed."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        most = min(MOST_TESTS, len(self.workqueue) // (LEAST_PARTS * len(self.nodes)))
        groups = dict([self.workqueue.popitem(last=False)])
        module, separator, _ = next(iter(groups)).partition("::")
        while separator and len(groups) < most and (following := next(iter(self.workqueue))).startswith(f"{module}::"):
            groups[following] = self.workqueue.pop(following)
        self.assigned_work.setdefault(node, {}).update(groups)
        if self._numbers is None:
            self._numbers = {name: number for number, name in enumerate(self.registered_collections[node])}
        tests = [name for group in groups.values() for name, is_over in group.items() if not is_over]
        node.send_runtest_some([self._numbers[name] for name in tests])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Note that a test is over, and give its worker a further group if there is little left for it."""
        name = self.registered_collections[node][item_index]
        groups, group = self.assigned_work[node], self._split_scope(name)
        groups[group][name] = True
        if all(groups[group].values()):
            del groups[group]
        self._reschedule(node)
