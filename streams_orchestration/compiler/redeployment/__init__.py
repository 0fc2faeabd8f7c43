"""Redeployment: the effects of replacing the plan of a deployed application.

`preview.py` is a pure function of two compilations with their deployment plans and, if known, the stored states.
`plans.py` matches the parts of both plans: operators by identity and channels (`Replica(identity, local channels)`),
and PEs, hosts and units by the operators that they share. A part that stays keeps its run-time number, so a unit may
run on untouched while the plan around it changes. `numbered.py` gives a plan these numbers. `units.py` compares the
programs of a unit with names in place of numbers.

`status` shows run-time numbers, and so do `explain`, `graph`, `lineage` and `diff` of a deployed application and
Dagster's assets and pages; `compile` shows the numbers of the compiler.

`states.py` decides about the state of each operator. `meaning.py` says if the state keeps its meaning under the
operator's class, parameters and input types. `feeds.py` says which splitters route the operator's tuples. `sharding.py`
says if the keys of the state contain the attributes by which these splitters route. The result is a `StateMove` for
every state that moves: its former and new PEs and operators, and the splitters before and after.
`runtime/redeployment/` carries the moves out.

`widths.py` and `pes.py` say which operators and PEs IBM Streams would change or restart (rule 41). `comparison.py`
shows both answers, for `streams diff` and the console.
"""
