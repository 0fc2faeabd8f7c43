"""Codes of decoupling: 0600 to 0619 problems, from 0620 on decisions."""

from __future__ import annotations

from streams_orchestration.model.codes import Code, error, warning

DECOUPLING_CODES: dict[str, Code] = {
    "SO0601": error(
        "Two operators of a decoupling problem have the same id.",
        "Give one of the two another id.",
    ),
    "SO0602": error(
        "An operator reads from an operator that the problem does not have.", "Correct the name, or add the operator."
    ),
    "SO0603": error(
        "The inputs or costs of an operator are not possible for its kind.",
        "Sources and receiving networks have no parents, tees have one, all others at least one. A sink or sending "
        "network is not a parent. Only networks have `recv_cpu`.",
    ),
    "SO0604": error("An operator is pinned to a machine that does not exist.", "Pin it to 0 to k - 1, or raise k."),
    "SO0605": error("Tees of one stream carry different amounts.", "Give all of them the amount of the stream."),
    "SO0606": error("Nothing enters a loop.", "Connect the loop with a source or a receiving network."),
    "SO0607": error(
        "Operators that must be on one machine are pinned to different ones, or to be apart.",
        "Remove one of the pins, or one of the entries that keep these operators together or apart.",
    ),
    "SO0608": error("No decision meets all conditions of the problem.", "Remove pins, or raise the budgets."),
    "SO0609": error("No decision was found within the time limit.", "Raise --time-limit, or remove pins."),
    "SO0610": warning(
        "The amount of data on an output is not known, so the output is not sent to another machine.",
        "Measure it and add `card`; 0 means an output without data.",
    ),
    "SO0611": error(
        "An application cannot be decoupled with this PE or profile.",
        "Name a PE of the application with --pe, and give a profile that was measured while it worked.",
    ),
    "SO0612": error("The process of the solver cannot be started.", "Free memory, or allow its user more processes."),
    "SO0620": error(
        "The decoupling decision was made for another application.",
        "Decide with `streams decouple` for this application, and give the file that it writes.",
    ),
    "SO0621": error(
        "A decoupling decision names an operator that the application does not have.",
        "Decide again with `streams decouple`, or correct the physical name, as in `Out[0].A`.",
    ),
    "SO0622": error(
        "The operators, connections or PEs differ from those for which the decoupling decision was made.",
        "Compile with the options of that decision, or decide again with `streams decouple`.",
    ),
    "SO0623": error(
        "A decoupling decision separates operators that placement configs keep together.",
        "Put them on one machine, or remove the colocation.",
    ),
    "SO0624": error(
        "A decoupling decision separates operators of an atomic group.",
        "Put its operators on one machine, or remove `atomic`.",
    ),
    "SO0625": error(
        "With a decoupling decision, PEs feed one another in a loop: none of them could end, or close an epoch.",
        "Put the operators downstream of the moved ones on a machine of their own, or move them, too.",
    ),
}
