"""A compiled application on one screen: regions, PEs, queues, copies."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.logical_graph import ParallelRegion
from streams_orchestration.compiler.stage_results import ConsistentRegion
from streams_orchestration.model.brief import plural, short_list
from streams_orchestration.model.secrets import without_secrets


def summary(compilation: PlannedCompilation) -> RenderableType:
    """Return the compiler's decisions as compact, coloured tables; empty tables are left out."""
    parts: list[RenderableType] = [_head(compilation)]
    tables = _parallel, _consistent, _pes, _networks, _queues, _units, _sinks
    for table in (each(compilation) for each in tables):
        if table.row_count:
            parts += ["", table]
    return Group(*parts, "", _copies(compilation))


def _head(compilation: PlannedCompilation) -> Text:
    logical, physical, fusion = compilation.logical, compilation.physical, compilation.fusion
    hosts = len({pe.host for pe in fusion.pes})
    head = Text.assemble((logical.application, "bold"))
    if logical.description:
        head.append(f"  {logical.description}", "dim")
    head.append(
        f"\n{plural(len(logical.operators), 'operator')}, {len(physical.operators)} after the parallel expansion, in "
        f"{plural(len(fusion.pes), 'PE')} on {plural(hosts, 'host')} ({fusion.scheme} fusion)"
    )
    if logical.submission:
        head.append(
            "\nset: " + ", ".join(f"{name}={value}" for name, value in without_secrets(logical.submission).items()),
            "dim",
        )
    return head


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=None, header_style="dim")
    table.padding = (0, 2, 0, 0)
    for column in columns:
        table.add_column(column)
    return table


def _parallel(compilation: PlannedCompilation) -> Table:
    table = _table("Parallel regions", "region", "width", "routing")
    for region in compilation.logical.regions:
        table.add_row(region.name, str(region.width), _routing(region))
    return table


def _routing(region: ParallelRegion) -> str:
    ways = [
        f"{port}: {how.policy}" + (f" by {', '.join(how.attributes)}" if how.attributes else "")
        for port, how in region.routing.items()
    ]
    return "; ".join(ways) or "roundRobin"


def _consistent(compilation: PlannedCompilation) -> Table:
    table = _table("Consistent regions", "region", "trigger", "starts", "operators")
    names = [operator.name for operator in compilation.physical.operators]
    for region in compilation.regions.expanded:
        members = short_list((names[number] for number in region.operators), 76)
        table.add_row(str(region.index), _trigger(region), short_list(names[n] for n in region.starts), members)
    return table


def _trigger(region: ConsistentRegion) -> str:
    return f"every {region.period:g} s" if region.period is not None else "by the start operator"


def _pes(compilation: PlannedCompilation) -> Table:
    parted = any(pe.origin >= 0 for pe in compilation.fusion.pes)
    came = ("was", "machine") if parted else ()
    table = _table("Processing elements", "PE", *came, "host", "region", "in", "out", "operators")
    names = [operator.name for operator in compilation.physical.operators]
    for pe in compilation.fusion.pes:
        regions = sorted({compilation.regions.region_of[number] for number in pe.operators} - {-1})
        table.add_row(
            str(pe.id),
            *((str(pe.origin), str(pe.machine)) if pe.origin >= 0 else ["-"] * len(came)),
            str(pe.host),
            ", ".join(map(str, regions)) or "-",
            str(len(pe.inputs)),
            str(len(pe.outputs)),
            short_list((names[number] for number in pe.operators), 76),
        )
    return table


def _networks(compilation: PlannedCompilation) -> Table:
    table = _table("Networks", "from", "port", "sent by", "received by", "for")
    names = [operator.name for operator in compilation.physical.operators]
    for network in compilation.fusion.networks:
        output = network.outputs[0]
        readers = short_list(dict.fromkeys(names[each.operator] for each in network.inputs), 76)
        pes = f"PE {network.sender}", f"PE {network.receiver}"
        table.add_row(names[output.operator], str(output.port), *pes, readers)
    return table


def _queues(compilation: PlannedCompilation) -> Table:
    table = _table("Queues", "before", "port", "size", "when full", "from")
    names = [operator.name for operator in compilation.physical.operators]
    grouped: dict[tuple[int, int, str, bool], list[str]] = {}
    for queue in compilation.threads.queues:
        key = queue.port, queue.queue_size, queue.congestion_policy, queue.injected
        grouped.setdefault(key, []).append(names[queue.operator])
    for (port, size, policy, injected), operators in grouped.items():
        origin = "compiler" if injected else "spec"
        table.add_row(short_list(operators), str(port), str(size), policy.removeprefix("Sys."), origin)
    return table


def _units(compilation: PlannedCompilation) -> Table:
    table = _table("Units of recovery", "unit", "PEs", "tasks")
    plan = compilation.deployment
    tasks = {program.pe: len(program.tasks) for program in plan.programs}
    for unit in plan.units:
        table.add_row(unit.name, short_list(map(str, unit.pes), 76), str(sum(tasks[pe] for pe in unit.pes)))
    return table


def _sinks(compilation: PlannedCompilation) -> Table:
    table = _table("Sinks", "operator", "kind", "goes to")
    for sink in compilation.deployment.sinks:
        table.add_row(sink.operator, sink.kind, sink.address or "-")
    return table


def _copies(compilation: PlannedCompilation) -> Text:
    copies = compilation.copies
    made = copies.sender_copies + copies.enqueue_copies
    text = Text.assemble(("Copies", "bold cyan"), f"  {made} made")
    if made:
        text.append(f" ({copies.sender_copies} by senders, {copies.enqueue_copies} into queues)")
    text.append(f", {copies.eliminated} saved")
    serialized = sum(passing.passing == "serialize" for passing in copies.connections)
    if serialized:
        text.append(f"; {plural(serialized, 'connection')} between PEs")
    return text
