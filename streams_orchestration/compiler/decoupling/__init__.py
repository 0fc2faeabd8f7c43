"""Decoupling: decides from measured costs which operators to move apart. Solvers are imported on first use.

**The problem.** `runtime/observing/profiles/` measures the costs of an application, and `compiler/profiles/costs.py`
assigns them to the current replicas. `application_problem.py` makes the problem, with a node for every operator and for
each of its *outlets*, which are output ports and splitter channels. In this problem, a machine is a part of the PE that
becomes a PE of its own. `application_decision.py` divides the PE and evaluates the result by operators and outlets
alone. `dataflow.py` numbers the operators, and adds a tee wherever a stream has several readers.

The transport writes a stream once, and every operator in another PE that reads the stream decodes it for itself. So a
fan-out is charged once to the sender, and to the receivers once for each reader (`tee: each`). A network of Hydro sends
once for each destination, and the destination receives once (`exact`).

**The search.** `contraction.py` joins everything that must be on one machine into one class, so the later steps deal
only with weights, pins and shared sends. `evaluation.py` computes the cost of a decision, and `legality.py` the
constraints that it violates; every answer passes through both. `effort.py` divides the time for one problem. It proves
a cheap bound first (`lower_bounds.py`) and then searches (`search.py`). If the problem is small enough, the whole
integer program follows (`formulation.py`, `integer_program.py`); if not, a second bound (`spreading.py`) and a longer
search follow. Problems of two machines go straight to the integer program. The search anneals coarse clusters before
single classes (`coarsening.py`, `annealing.py`).

If streams must lead forward, hops are limited or classes must be apart, the search fills machines along the flow and
anneals the result with legal moves only. All but small problems are solved in a process of their own, which is killed
when the time is over (`solver_process.py`).

**The application of a decision** directly follows fusion. `compiler/fusion/assignment_checks.py` says which constraints
it would violate, `compiler/fusion/rewriting.py` divides the PEs, and all later stages see ordinary PEs. The writing and
reading of segments already are the two Network operators of a stream, so the plan only names the pairs
(`FusionPlan.networks`). Each part knows the PE from which it was divided (`ProcessingElement.origin`); its operators
see that PE's number.

**Fusion by load** is the reverse. `compiler/fusion/load_fusion.py` makes the same kind of problem from all operators
that may share PEs; `apart` keeps units separate. `fewest.py` finds the fewest machines within a capacity, or the best
use of a given number of machines. It solves small problems exactly. For larger problems it uses the same search with a
fixed number of steps instead of a time limit, because a plan must be the same every time that it is made.
"""

from streams_orchestration.compiler.decoupling.decision import Decision
from streams_orchestration.compiler.decoupling.solver_task import SolverChoice
from streams_orchestration.compiler.decoupling.solving import solve

__all__ = ["Decision", "SolverChoice", "solve"]
