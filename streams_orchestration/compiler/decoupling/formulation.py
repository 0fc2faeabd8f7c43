"""The integer program of a contracted problem, in PuLP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulp

from streams_orchestration.compiler.decoupling.contraction import Contraction, Fan
from streams_orchestration.compiler.decoupling.dataflow import LEAST_LOAD, SINKS
from streams_orchestration.compiler.decoupling.evaluation import evaluate

Term = tuple[pulp.LpVariable, float]
SCALE = 1000.0
"""The sum to which all loads are scaled, so that the solver's absolute tolerances suit every problem."""
_LEAST_TOTAL = 1e-200
"""The least total load by which the program divides, so that a problem without load does not divide by zero."""


@dataclass(frozen=True, slots=True)
class _Where:
    """The indicator that a class is on a machine: a linear expression that is 0 or 1 for every decision."""

    terms: tuple[Term, ...]
    constant: float

    def times(self, factor: float) -> list[Term]:
        return [(variable, factor * each) for variable, each in self.terms]


class Formulation:
    """The variables and rows of the integer program.

    There is one binary variable per class for two machines, else one per class and machine. The objective is the
    largest load, plus the sum of loads with the weight that the problem gives it. If `at_most` is given, the program
    instead minimises the sum of loads while the objective is at most that value. This is the second step of a
    lexicographic solution (Q9).
    """

    def __init__(self, contraction: Contraction, at_most: float | None = None) -> None:
        self._contraction = contraction
        self._machines = range(len(contraction.machines))
        params = contraction.flow.params
        self.scale = SCALE / max(sum(contraction.weights), LEAST_LOAD * self._crossing(), _LEAST_TOTAL)
        self.program = pulp.LpProblem("decoupling", pulp.LpMinimize)
        self._rows = 0
        self._place()
        loads = self._loads()
        most = self._variable("most")
        singles = loads if params.machine_budget is None else self._divided(loads, most, params.machine_budget)
        for load in singles:
            self._at_least([(most, 1.0), *_negated(load)], 0.0)
        total = [term for load in singles for term in load]
        objective = [(most, 1.0), *((variable, params.lex_epsilon * each) for variable, each in total)]
        if at_most is not None:
            self._at_least(_negated(objective), -at_most * self.scale)
            objective = total
        self.program.setObjective(_sum(objective))
        if params.latency_budget is not None:
            self._bound_paths(params.latency_budget)
        if params.forward:
            self._send_forward()
        self._keep_apart()

    def _variable(self, name: str, *, binary: bool = False, most: float | None = None) -> pulp.LpVariable:
        category = pulp.LpBinary if binary else pulp.LpContinuous
        return self.program.add_variable(name, 0, 1 if binary else most, category)

    def _at_least(self, terms: Iterable[Term], least: float) -> None:
        """Add a row: the sum of the terms is at least `least`."""
        self._rows += 1
        row = pulp.LpConstraint(_sum(terms), pulp.LpConstraintGE, rhs=least)
        self.program.addConstraint(row, f"r{self._rows}")

    def _crossing(self) -> float:
        """Return the load of all sends if every edge leads to another machine."""
        fans = self._contraction.fans
        copies = [len(fan.targets) if self._contraction.flow.params.tee == "exact" else 1 for fan in fans]
        return sum(fan.send * copy + fan.receive for fan, copy in zip(fans, copies, strict=True))

    def _place(self) -> None:
        """Add the binary variables of classes.

        Free machines are interchangeable, so the heaviest classes may only use the first of them. If streams lead to
        higher machines only, the order of the machines distinguishes them.
        """
        contraction, machines = self._contraction, len(self._machines)
        free = [number for number, pin in enumerate(contraction.pins) if pin < 0]
        free.sort(key=lambda number: (-contraction.weights[number], number))
        last = {number: min(machines - 1, contraction.pinned + rank) for rank, number in enumerate(free[:machines])}
        if contraction.forward:
            last = {}
        self.binaries: dict[tuple[int, int], pulp.LpVariable] = {}
        self._counts: list[list[pulp.LpVariable]] = []
        self._where: list[list[_Where]] = []
        for number, pin in enumerate(contraction.pins):
            fixed = pin if pin >= 0 else 0 if last.get(number) == 0 else -1
            if fixed >= 0:
                self._where.append([_Where((), float(machine == fixed)) for machine in self._machines])
            elif machines == 2:
                second = self._variable(f"y{number}", binary=True)
                self.binaries[number, 1] = second
                self._where.append([_Where(((second, -1.0),), 1.0), _Where(((second, 1.0),), 0.0)])
            else:
                open_ = range(last.get(number, machines - 1) + 1)
                for machine in open_:
                    self.binaries[number, machine] = self._variable(f"y{number}_{machine}", binary=True)
                one = [(self.binaries[number, machine], 1.0) for machine in open_]
                self.program.addConstraint(pulp.LpConstraint(_sum(one), pulp.LpConstraintEQ, rhs=1), f"one{number}")
                self._where.append(
                    [
                        _Where(((self.binaries[number, machine], 1.0),) if machine in open_ else (), 0.0)
                        for machine in self._machines
                    ]
                )

    def _differ(self, variable: pulp.LpVariable, there: _Where, here: _Where) -> None:
        """Add a row: the variable is at least 1 if one class is on a machine and another one is not."""
        if (there.terms or there.constant) and (here.terms or not here.constant):
            self._at_least([(variable, 1.0), *there.times(-1.0), *here.times(1.0)], there.constant - here.constant)

    def _loads(self) -> list[list[Term]]:
        """Add the traffic to the program, and return the load of each machine as terms.

        A constant is the factor of a variable that is always 1.
        """
        loads: list[list[Term]] = [[] for _ in self._machines]
        fixed = [0.0 for _ in self._machines]
        for weight, wheres in zip(self._contraction.weights, self._where, strict=True):
            if weight:
                for machine, where in enumerate(wheres):
                    loads[machine] += where.times(weight * self.scale)
                    fixed[machine] += weight * self.scale * where.constant
        self._one = self.program.add_variable("one", 1, 1)
        for machine, constant in enumerate(fixed):
            if constant:
                loads[machine].append((self._one, constant))
        for number, fan in enumerate(self._contraction.fans):
            self._fan(number, fan, loads)
        return loads

    def _fan(self, number: int, fan: Fan, loads: list[list[Term]]) -> None:
        """Add the loads of a send and of its receipts to the machines.

        The variables of the send are integral whenever the variables of the classes are (rule Q5).
        """
        source = self._where[fan.source]
        arrives = [self._variable(f"t{number}_{machine}", most=1) for machine in self._machines]
        for machine, variable in enumerate(arrives):
            for target in fan.targets:
                self._differ(variable, self._where[target][machine], source[machine])
            loads[machine].append((variable, fan.receive * self.scale))
        if len(arrives) == 2:
            loads[0].append((arrives[1], fan.send * self.scale))
            loads[1].append((arrives[0], fan.send * self.scale))
            return
        exact = self._contraction.flow.params.tee == "exact" and len(fan.targets) > 1
        most = min(len(self._machines) - 1, len(fan.targets)) if exact else 1
        leaves = [self._variable(f"s{number}_{machine}", most=most) for machine in self._machines]
        for machine, variable in enumerate(leaves):
            for target in fan.targets:
                self._differ(variable, source[machine], self._where[target][machine])
            if exact:
                here = source[machine]
                row = [(variable, 1.0), *_negated((each, 1.0) for each in arrives), *here.times(-float(most))]
                self._at_least(row, most * (here.constant - 1.0))
            loads[machine].append((variable, fan.send * self.scale))

    def _divided(self, loads: Sequence[list[Term]], most: pulp.LpVariable, budget: int) -> list[list[Term]]:
        """Add the number of machines of each group to the program, within the budget.

        Return the load of a single machine of each group. Also bound the greatest load, the variable `most`, by the sum
        of all loads divided by the budget.

        The big M of a row is the highest possible load of the group (rule Q7).
        """
        highest = SCALE + self._crossing() * self.scale
        singles: list[list[Term]] = []
        spent: list[Term] = []
        for machine, load in enumerate(loads):
            count = [self._variable(f"n{machine}_{each}", binary=True) for each in range(budget + 1)]
            one = _sum((each, 1.0) for each in count)
            self.program.addConstraint(pulp.LpConstraint(one, pulp.LpConstraintEQ, rhs=1), f"count{machine}")
            spent += [(variable, float(each)) for each, variable in enumerate(count)]
            self._counts.append(count)
            single = self._variable(f"e{machine}")
            for each in range(1, budget + 1):
                part = ((variable, -factor / each) for variable, factor in load)
                self._at_least([(single, 1.0), *part, (count[each], -highest / each)], -highest / each)
            for number, wheres in enumerate(self._where):
                where = wheres[machine]
                # An operator in a group needs one of its machines, and an operator with state must not have a second
                # one.
                self._at_least([*where.times(-1.0), (count[0], -1.0)], where.constant - 1.0)
                if self._contraction.whole[number]:
                    several = [(variable, -1.0) for variable in count[2:]]
                    self._at_least([*where.times(-1.0), *several], where.constant - 1.0)
            singles.append([(single, 1.0)])
        self._at_least(_negated(spent), -float(budget))
        everything = [term for load in loads for term in load]
        self._at_least([(most, float(budget)), *_negated(everything)], 0.0)
        return singles

    def _bound_paths(self, budget: int) -> None:
        """Bound the added hops of every path by the latency budget (rule Q11).

        A variable of each node is at least the number of hops on the paths to it.
        """
        contraction = self._contraction
        cuts: dict[tuple[int, int], pulp.LpVariable] = {}
        potentials = [self._variable(f"p{number}", most=budget) for number in range(len(contraction.flow.nodes))]
        for number, node in enumerate(contraction.flow.nodes):
            ends = contraction.executes[number], contraction.outputs[number]
            hop: list[Term] = []
            if ends[0] != ends[1] and node.kind not in (*SINKS, "net_self"):
                if ends not in cuts:
                    cuts[ends] = self._variable(f"c{ends[0]}_{ends[1]}", most=1)
                    for machine in self._machines:
                        self._differ(cuts[ends], self._where[ends[1]][machine], self._where[ends[0]][machine])
                hop = [(cuts[ends], -1.0)]
            for reader in contraction.flow.readers[number]:
                self._at_least([(potentials[reader], 1.0), (potentials[number], -1.0), *hop], 0.0)
            if hop:
                self._at_least([(potentials[number], -1.0), *hop], -float(budget))

    def _send_forward(self) -> None:
        """Add rows: a stream must not lead from one of the later machines back to an earlier one."""
        for source, target in dict.fromkeys(self._contraction.sent()):
            for machine in self._machines[1:]:
                there, here = self._where[target][machine:], self._where[source][machine:]
                terms = [term for where in there for term in where.terms]
                terms += [term for where in here for term in where.times(-1.0)]
                self._at_least(terms, sum(where.constant for where in here) - sum(where.constant for where in there))

    def _keep_apart(self) -> None:
        """Add rows: a machine has at most one class of each set of classes that must be apart."""
        for members in self._contraction.apart:
            for machine in self._machines:
                wheres = [self._where[number][machine] for number in members]
                terms = [term for where in wheres for term in where.times(-1.0)]
                self._at_least(terms, sum(where.constant for where in wheres) - 1.0)

    def assignment(self, values: Mapping[str, float]) -> list[int]:
        """Return the machines of the classes in a solution, with rounded values (rule Q16)."""
        result = [max(self._machines, key=lambda machine: (where[machine].constant, -machine)) for where in self._where]
        best: dict[int, float] = {}
        for (number, machine), variable in self.binaries.items():
            value = values.get(variable.name, 0.0)  # a variable that is in no row has no value
            if len(self._machines) == 2:
                result[number] = int(value > 0.5)
            elif value > best.get(number, -1.0):
                best[number] = value
                result[number] = machine
        return result

    def start(self, assignment: Sequence[int]) -> dict[str, float]:
        """Return the values of all binary variables for an assignment.

        Machines without a pin are numbered by their heaviest class, as the program requires. No binary is left out:
        HiGHS would find the missing values with a smaller program, and report the bound of that one.
        """
        contraction = self._contraction
        ranked = sorted(range(contraction.size), key=lambda number: (-contraction.weights[number], number))
        ours = {machine: machine for machine in range(contraction.pinned)}
        for number in ranked:
            if contraction.pins[number] < 0:
                ours.setdefault(assignment[number], len(ours))
        values = {
            variable.name: float(ours[assignment[number]] == machine)
            for (number, machine), variable in self.binaries.items()
        }
        if self._counts:
            counts = evaluate(contraction.flow, contraction.outputs_of(assignment)).counts
            used = {machine: counts[contraction.machines[number]] for number, machine in ours.items()}
            for machine, count in enumerate(self._counts):
                chosen = used.get(machine, 0)
                values |= {variable.name: float(each == chosen) for each, variable in enumerate(count)}
        return values


def _negated(terms: Iterable[Term]) -> list[Term]:
    return [(variable, -factor) for variable, factor in terms]


def _sum(terms: Iterable[Term]) -> Any:
    """Return a linear expression, with the factors of each variable added up."""
    factors: dict[pulp.LpVariable, float] = {}
    for variable, factor in terms:
        factors[variable] = factors.get(variable, 0.0) + factor
    return pulp.LpAffineExpression({variable: factor for variable, factor in factors.items() if factor})
