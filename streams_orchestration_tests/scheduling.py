"""The distribution of tests to the workers of xdist by their groups, quickly for thousands of groups."""

from __future__ import annotations

from collections.abc import Mapping

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class QuickGroupScheduling(LoadGroupScheduling):
    """A distribution by groups that forgets a group with its last test, and knows the number of each test.

    Each test without a group is a group. After each test, xdist goes through all groups of a worker, and through all
    tests to the number of the next one.
    """

    _numbers: Mapping[str, int] | None = None
    """Test -> its number in each worker, once tests are distributed."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        group, tests = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[group] = tests
        if self._numbers is None:
            self._numbers = {name: number for number, name in enumerate(self.registered_collections[node])}
        node.send_runtest_some([self._numbers[name] for name, is_over in tests.items() if not is_over])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Note that a test is over, and give its worker a further group if there is little left for it."""
        name = self.registered_collections[node][item_index]
        groups, group = self.assigned_work[node], self._split_scope(name)
        groups[group][name] = True
        if all(groups[group].values()):
            del groups[group]
        self._reschedule(node)
