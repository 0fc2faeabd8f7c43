"""The datasets that a deployed application reads and writes, and the lineage of their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from streams_orchestration.compiler.column_lineage import ColumnOrigins
from streams_orchestration.compiler.column_uses import ColumnUse, Uses, united
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.runtime.lineage.dataset_names import DatasetName, dataset_names, names_of_place
from streams_orchestration.runtime.lineage.reference_files import reference_files
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import operator_context


class DataColumn(NamedTuple):
    """A column of a dataset."""

    dataset: DatasetName
    column: str


@dataclass(slots=True)
class WrittenDataset:
    """A dataset that sinks write."""

    schema: str | None
    """The schema as DDL; None if it is unknown, or sinks with different schemas write the dataset."""
    operators: list[str] = field(default_factory=list[str])
    """The sinks, by name."""
    columns: dict[str, Uses[DataColumn]] = field(default_factory=dict[str, Uses[DataColumn]])
    """Column -> the input columns from which it is derived."""
    influences: Uses[DataColumn] = field(default_factory=dict[DataColumn, frozenset[ColumnUse]])
    """The input columns that decide which rows exist, such as the columns in filters."""


@dataclass(frozen=True, slots=True)
class Flows:
    """All datasets that an application reads and writes."""

    inputs: Mapping[DatasetName, str | None]
    """Dataset -> its schema as DDL, or None if it is unknown, or sources with different schemas read the dataset."""
    outputs: Mapping[DatasetName, WrittenDataset]


@dataclass(frozen=True, slots=True)
class About:
    """The facts about an application for its events."""

    namespace: str
    application: str
    description: str
    flows: Flows | None
    """The datasets that the application reads and writes; None if the deployed application cannot be read here."""


def flows_of(home: Home, base: str, compilation: Compilation, programs: Iterable[PeProgram]) -> Flows:
    """Return the datasets that an application reads and writes. Data without a permanent place are left out.

    Errors of importing an operator, or of reading its parameters, are raised.
    """
    names = _names(home, base, programs)
    origins = ColumnOrigins(compilation, across_pes=True)
    physical = compilation.physical.operators
    models = [compilation.logical.operators[each.logical] for each in physical]
    inputs: dict[DatasetName, str | None] = {}
    outputs: dict[DatasetName, WrittenDataset] = {}
    for model in compilation.logical.operators:
        for file in reference_files(model, import_all=True):
            found = names_of_place(file.file, Path(base))
            names[f"{model.name}.{file.name}"] = found
            inputs.update(dict.fromkeys(found, file.facts.get("schema")))
    for number, model in enumerate(models):
        operator = physical[number].name
        for dataset in names.get(operator, ()):
            if not model.inputs:
                schema = model.outputs[0].schema if model.outputs else None
                inputs[dataset] = schema if inputs.get(dataset, schema) == schema else None
                continue
            schemas = {
                models[each.source].outputs[each.source_port].schema
                for each in compilation.physical.connections
                if each.target == number
            }
            schema = schemas.pop() if len(schemas) == 1 else None
            output = outputs.setdefault(dataset, WrittenDataset(schema))
            output.schema = schema if output.schema == schema else None
            output.operators.append(operator)
            for column, origin in origins.of_inputs(number).items():
                output.columns[column] = united([output.columns.get(column, {}), _in_data(origin.columns, names)])
            output.influences = united([output.influences, _in_data(origins.influences_on_inputs(number), names)])
    return Flows(inputs, outputs)


def _names(home: Home, base: str, programs: Iterable[PeProgram]) -> dict[str, tuple[DatasetName, ...]]:
    """Map each operator to the names of its datasets; only sources and sinks have some.

    Errors of importing an operator, or of reading its parameters, are raised.
    """
    names: dict[str, tuple[DatasetName, ...]] = {}
    for program in programs:
        directories = directories_of(home, program.application, program.pe, base)
        for operator in program.operators.values():
            names[operator.name] = _names_of(operator, directories)
    return names


def _names_of(operator: OperatorProgram, directories: Directories) -> tuple[DatasetName, ...]:
    implementation = import_operator(operator.implementation)
    writes = bool(operator.inputs) and implementation.prepare_commit is not Operator.prepare_commit
    if not (writes or not operator.inputs or not operator.outputs):
        return ()
    parameters = implementation.Parameters.model_validate(operator.parameters)
    return dataset_names(implementation, operator_context(operator, directories), parameters)


def _in_data(uses: Uses[tuple[str, str]], names: Mapping[str, tuple[DatasetName, ...]]) -> Uses[DataColumn]:
    """Translate uses of sources' columns into uses of the columns of their datasets."""
    found: dict[DataColumn, frozenset[ColumnUse]] = defaultdict(frozenset)
    for (node, column), ways in uses.items():
        for dataset in names.get(node.removeprefix("sources/"), ()):
            found[DataColumn(dataset, column)] |= ways
    return dict(found)
