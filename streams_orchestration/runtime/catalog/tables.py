"""The tables of the catalog."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Index, Table, func
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import JSON, Boolean, Float, Integer, LargeBinary, String, Text

from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.runtime.catalog import sink_tables
from streams_orchestration.runtime.catalog.reason import Reason
from streams_orchestration.runtime.catalog.sink_tables import Count

metadata = sink_tables.metadata
_statements: dict[str, tuple[str, ...]] = {}
"""The statements that create all tables and indexes, by the kind of the database."""
sink, sink_file, sink_directory = sink_tables.sink, sink_tables.sink_file, sink_tables.sink_directory

application = Table(
    "application",
    metadata,
    Column("name", String, primary_key=True),
    Column("life", String, nullable=False),  # a new one for every start from nothing
    Column("fingerprint", String, nullable=False),
    Column("compilation", LargeBinary, nullable=False),
    Column("base", String, nullable=False),  # directory of the spec
    Column("settings", JSON, nullable=False),  # settings with which its hosts start
    Column("wanted", String, nullable=False),  # RUNNING or STOPPED
    # time until which a stopped application runs on to its cut; renewed meanwhile
    Column("runs_until", Float),
    Column("bounded", String),  # id of the bounded run, which reads only the present input; null for any other run
    Column("taken_at", Float),  # time at which the bounded run had read all its input, and stopped
    Column("state", String, nullable=False),
    Column("deployed_at", Float, nullable=False),
    Column("started_at", Float, nullable=False),  # last time at which it was wanted to run after a stop
    Column("plan", Integer, nullable=False, default=1),  # number of plans so far: hosts load a new one
    Column("last_epoch", Count, nullable=False, default=0),
    Column("last_batch", Count, nullable=False, default=-1),
    Column("last_generation", Integer, nullable=False, default=0),
)

storage = Table("storage", metadata, Column("address", String, primary_key=True))
"""One row: the address of the storage of the catalog's files, from STREAMS_STORAGE; empty for the state directory."""

installation = Table("installation", metadata, Column("id", String, primary_key=True))
"""One row: the id that tells this catalog from every other one."""

host = Table(
    "host",
    metadata,
    Column("application", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    Column("incarnation", String),  # a new one for every start of the host
    Column("pid", Integer),
    Column("process_started", Float),
    Column("state", String, nullable=False),
    Column("asked_at", Float),  # when the command that launched it was entered
    Column("launched_at", Float, nullable=False, default=0.0),
    Column("start_up", JSON),  # seconds up to the first committed batch, by phase
    Column("heartbeat_at", Float),
    Column("error", Reason),
    Column("launches", Integer, nullable=False, default=0),  # in a row without coming up
    Column("wish", JSON(none_as_null=True)),  # on which machines, and apart from which hosts, it is to run
    Column("machine", String),  # by name: where it runs, or whose agent is to start it
    Column("space", String),  # within which its pid means a process: boot and process namespace of the machine
    Column("storage_error", Reason),  # the reason why it does not reach the storage
    Column("storage_failed_at", Float),  # time at which it did not reach it first
)

process = Table(
    "host_process",
    metadata,
    Column("application", String, primary_key=True),
    Column("incarnation", String, primary_key=True),
    Column("pid", Integer, primary_key=True),
    Column("host", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("command", Text, nullable=False),
    Column("space", String),
)

machine = Table(
    "machine",  # machines that their agents have registered
    metadata,
    Column("name", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("pid", Integer, nullable=False),  # pid of its agent
    Column("process_started", Float, nullable=False),
    Column("address", String, nullable=False),  # its host name, for people
    Column("tags", JSON, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("state", String, nullable=False),  # UP or DRAINING; DOWN once its agent has ended
    Column("version", String, nullable=False),  # version of the product
    Column("since", Float, nullable=False),
    Column("lease_until", Float, nullable=False),  # renewed by its agent
    Column("standbys", Integer, nullable=False, default=0),  # hosts that wait there
    Column("load", Float),  # processes that wanted to run, a minute's average
    Column("home", String, nullable=False, default=""),  # its state directory
)

log_request = Table(
    "log_request",  # for the ends of logs, which the agent of a machine answers
    metadata,
    Column("id", String, primary_key=True),
    Column("machine", String, nullable=False),
    Column("application", String, nullable=False),
    Column("names", JSON, nullable=False),  # names of the logs: host-0, pe-3
    Column("lines", Integer, nullable=False),  # most lines of each
    Column("after", JSON, nullable=False),  # name -> position from which on, of those that are followed
    Column("asked_at", Float, nullable=False),
    Column("answer", JSON(none_as_null=True)),  # the ends; none before the agent has answered
)

unit = Table(
    "unit",
    metadata,
    Column("application", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("region", Integer),
    Column("period", Float),
    Column("drain_timeout", Float, nullable=False),
    Column("reset_timeout", Float, nullable=False),
    Column("generation", Integer, nullable=False, default=1),
    Column("trigger_epoch", Count, nullable=False, default=0),  # start PEs close epochs up to this one
    Column("current_epoch", Count, nullable=False, default=1),  # the sequence id that the next drain has
    Column("completed_epoch", Count, nullable=False, default=0),
    # PEs that work in the current epoch or before it, a hint: the commit of the last one tells the state machine
    Column("unclosed", Integer, nullable=False, default=0),
    Column("shown_epoch", Count),  # the last one that others see, while a redeploy is on trial; else all complete ones
    Column("held_until", Float),  # until then nothing new comes in: it is drained for another plan
    Column("drain_asked", Count),  # the sequence id that the trigger operator has begun to drain
    Column("final_epoch", Count),
    Column("attempts", Integer, nullable=False, default=0),
    Column("max_attempts", Integer, nullable=False),  # a forced reset raises it until an epoch is complete
    Column("configured_attempts", Integer, nullable=False),
    Column("restart_pause", Float, nullable=False, default=DEFAULT_RESTART.pause),  # longest, for a cause outside
    Column("restart_limit", Float, nullable=False, default=DEFAULT_RESTART.limit),  # seconds without a new epoch
    Column("kind", Text, nullable=False, default=""),  # kind of the cause; resets are counted for each kind
    Column("give_up_at", Float),  # time limit for a cause outside of the application
    Column("tries", JSON),  # kind, resets and time of the first one, since the last complete epoch
    Column("state", String, nullable=False, default="STARTED"),
    Column("dirty", Boolean, nullable=False, default=False),  # started in a way that only a reset mends
    Column("since", Float, nullable=False, default=0.0),  # when it came into its state
    Column("timer", String),  # period, drain or reset
    Column("deadline", Float),
    Column("timer_number", Integer, nullable=False, default=0),
    Column("began_at", Float, nullable=False, default=0.0),  # the drain or the reset attempt under way
    Column("cause", Reason),
    Column("asked", Integer, nullable=False, default=0),  # the generation whose reset was taken up
    Column("outage", JSON),  # event of the last outage -> its unix time
    Column("drains", JSON),  # sequence id and time of the last one, seconds of the last ten
    Column("resets", JSON),
    Column("reset_count", Integer, nullable=False, default=0),
    Column("restarts", Integer, nullable=False, default=0),  # resets of an autonomous PE, one soon after the other
    Column("completed_at", Float),
)

SHOWN_EPOCH = func.coalesce(unit.c.shown_epoch, unit.c.completed_epoch)
"""The last epoch of a unit whose results are visible outside, and that no revert of a redeploy undoes."""

trial = Table(
    "trial",  # the trial of the last redeploy
    metadata,
    Column("application", String, primary_key=True),
    Column("plan", Integer, nullable=False),  # number of the plan on trial
    Column("fingerprint", String, nullable=False),  # fingerprint of that plan
    Column("state", String, nullable=False),  # OPEN, PASSED or REVERTED
    Column("within", Float, nullable=False),  # seconds that the trial may take
    Column("until", Float, nullable=False),  # time at which an open trial is reverted
    Column("ended_at", Float),
    Column("cause", Reason),  # the reason why the plan was reverted
    Column("pause", Float),  # seconds between the last commit before and the first one after
    Column("before", LargeBinary),  # for an open trial, the rows of the previous plan at its cut
    Column("files", JSON, nullable=False),  # files of the states that these rows name
    Column("earlier", LargeBinary),  # the compilation of the previous plan, unless that was restored
    Column("taken_back", String),  # fingerprint of a plan that this redeploy has taken back
)

unit_event = Table(
    "unit_event",
    metadata,
    Column("application", String, primary_key=True),
    Column("unit", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("epoch", Count, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("seconds", Float),
    Column("cause", Reason),
)

pe = Table(
    "pe",
    metadata,
    Column("application", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    Column("unit", String, nullable=False),
    Column("host", Integer, nullable=False),
    Column("feeds", Boolean, nullable=False),  # tuples come into the unit here: from sources, or from other units
    Column("operators", JSON, nullable=False),  # names, for people
    Column("levels", JSON, nullable=False),  # distribution of the operators over tasks, for people
    Column("program", LargeBinary, nullable=False),  # program of the PE as JSON
    Column("state", String, nullable=False, default="WANTED"),
    Column("error", Reason),
    Column("permanent", Boolean, nullable=False, default=False),  # no reset can mend the error
    Column("kind", Text, nullable=False, default=""),  # kind of the error: failures of one kind have the same cause
    Column("outside", Boolean, nullable=False, default=False),  # the cause is outside of the application
    Column("failures", JSON),  # last failure of its operators, and time of the last one in the same code
    Column("restartable", Boolean, nullable=False, default=True),
    Column("running", Integer, nullable=False, default=0),  # the generation in which it was last seen to run
    Column("batch", Count, nullable=False, default=-1),
    Column("epoch", Count, nullable=False, default=1),  # the one it works in
    Column("exhausted", Boolean, nullable=False, default=False),
    Column("final", Boolean, nullable=False, default=False),
    Column("initial", JSON, nullable=False),  # the position before the first batch
    Column("position", JSON, nullable=False),
    Column("bounds", JSON(none_as_null=True)),  # id of the bounded run, and its end for each source
    Column("rows_in", Count, nullable=False, default=0),
    Column("rows_out", Count, nullable=False, default=0),
    Column("busy_seconds", Float, nullable=False, default=0.0),
    Column("committed_at", Float),
    Index("pe_of_unit", "application", "unit"),
)

commit = Table(
    "batch_commit",
    metadata,
    Column("application", String, primary_key=True),
    Column("pe", Integer, primary_key=True),
    Column("batch", Count, primary_key=True),
    Column("token", String),  # token of the planner's call, by which it finds its own commit
    Column("generation", Integer, nullable=False),
    Column("epoch", Count, nullable=False),
    Column("boundary", Boolean, nullable=False),
    Column("exhausted", Boolean, nullable=False),
    Column("final", Boolean, nullable=False),
    Column("position", JSON, nullable=False),
    Column("rows_in", Count, nullable=False),  # totals up to this batch, so that a reset can go back to them
    Column("rows_out", Count, nullable=False),
    Column("busy_seconds", Float, nullable=False),
    Column("committed_at", Float, nullable=False),
)

segment = Table(
    "segment",
    metadata,
    Column("application", String, primary_key=True),
    Column("stream", String, primary_key=True),
    Column("number", Count, primary_key=True),
    Column("pe", Integer, nullable=False),
    Column("batch", Count, nullable=False),
    Column("epoch", Count, nullable=False),
    Column("path", String, nullable=False),
    Column("rows", Count, nullable=False),
    Column("size", Count, nullable=False),
    Column("checksum", Count, nullable=False),
    Column("committed_at", Float, nullable=False),
    Column("uncommitted", Boolean, nullable=False, default=False),  # read by others before its epoch is complete
    Column("retracted", Boolean, nullable=False, default=False),  # by a reset; its file stays while it may be read
)

state = Table(
    "operator_state",
    metadata,
    Column("application", String, primary_key=True),
    Column("operator", String, primary_key=True),
    Column("batch", Count, primary_key=True),
    Column("pe", Integer, nullable=False),
    Column("files", JSON, nullable=False),  # its chain: path, size, checksum and batch of each
    Index("operator_state_of_pe", "application", "pe"),
)

stream_export = Table(
    "stream_export",
    metadata,
    Column("application", String, primary_key=True),
    Column("name", String, primary_key=True),  # name of the Export, the same for all replicas
    Column("stream", String, primary_key=True),
    Column("pe", Integer, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("stream_id", String),
    Column("waits", Boolean, nullable=False),  # for readers that are behind: the congestion policy
    Column("schema", String, nullable=False),
    Column("uncommitted", Boolean, nullable=False, default=False),  # may be read before its epoch is complete
    Column("event_time", String),  # attribute, type and resolution of its watermarks; null without any
)

stream_import = Table(
    "stream_import",
    metadata,
    Column("application", String, primary_key=True),
    Column("name", String, primary_key=True),  # name of the Import, the same for all replicas
    Column("operator", String, primary_key=True),  # operator that takes its tuples
    Column("port", Integer, primary_key=True),
    Column("pe", Integer, nullable=False),
    Column("subscription", String),
    Column("exporter", String),  # with a stream id, where there is no subscription
    Column("stream_id", String),
    Column("filter", String),
    Column("schema", String, nullable=False),
    Column("consistent", Boolean, nullable=False, default=True),  # its operator is in a consistent region
    Column("event_time", String),  # attribute, type and resolution of the watermarks that it takes
)

stream_connection = Table(
    "stream_connection",
    metadata,
    Column("application", String, primary_key=True),  # the importing one
    Column("key", String, primary_key=True),  # the stream's name in the positions of the importing PE
    Column("pe", Integer, nullable=False),
    Column("name", String, nullable=False),  # name of the Import
    Column("operator", String, nullable=False),
    Column("port", Integer, nullable=False),
    Column("filter", String),
    Column("exporter", String, nullable=False),
    Column("exporter_pe", Integer, nullable=False),
    Column("stream", String, nullable=False),
    Column("waits", Boolean, nullable=False),  # the exporter, for this reader
    Column("first", Count, nullable=False),  # segment that was next when they were connected
    Column("last", Count),  # behind the last segment that it is about, of one that a redeploy has ended
    Column("lost", Count, nullable=False, default=0),  # tuples that were dropped before they were read
    Column("problem", String),  # the reason why nothing flows
    Column("uncommitted", Boolean, nullable=False, default=False),  # it is read before its epoch is complete
    Column("event_time", Boolean, nullable=False, default=False),  # the Import takes the watermarks of the stream
)

epoch = Table(
    "epoch",
    metadata,
    Column("application", String, primary_key=True),
    Column("unit", String, primary_key=True),
    Column("epoch", Count, primary_key=True),
    Column("cut", JSON, nullable=False),  # {PE: batch}
    Column("completed_at", Float, nullable=False),
    Column("seconds", Float),  # from the trigger
)

lineage_run = Table(
    "lineage_run", metadata, Column("application", String, primary_key=True),
    Column("run", String, nullable=False), Column("started_at", Float, nullable=False),
    Column("event", String, nullable=False), Column("rows", JSON, nullable=False),
)  # fmt: skip
"""An application's last run for OpenLineage.

`event` is the last event sent, or empty; `rows` has the numbers of rows that the sinks had published before the run.
"""

pe_metrics = Table(
    "pe_metrics",
    metadata,
    Column("application", String, primary_key=True),
    Column("pe", Integer, primary_key=True),
    Column("since", Float, nullable=False),
    Column("at", Float, nullable=False),
    Column("sampled_at", Float, nullable=False),  # the newest one in the ring
    Column("counts", JSON, nullable=False),  # totals of this life; a reset does not take them back
)

metrics_sample = Table(
    "metrics_sample",
    metadata,
    Column("application", String, primary_key=True),
    Column("pe", Integer, primary_key=True),
    Column("slot", Integer, primary_key=True),  # a ring by time, so that it never grows
    Column("at", Float, nullable=False),
    Column("counts", JSON, nullable=False),
)


def create_tables(connection: Connection) -> None:
    """Create all tables and indexes in a database that has none of them."""
    dialect = connection.dialect
    if dialect.name not in _statements:
        steps = [
            step
            for table in metadata.sorted_tables
            for step in (CreateTable(table), *(CreateIndex(each) for each in sorted(table.indexes, key=_name_of)))
        ]
        _statements[dialect.name] = tuple(str(step.compile(dialect=dialect)) for step in steps)
    for statement in _statements[dialect.name]:
        connection.exec_driver_sql(statement)


def _name_of(index: Index) -> str:
    return str(index.name)
