"""Configs and threading annotations that operators inherit, by precedence (rules 42, 43, 46-48, 67, 68, A48)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from streams_orchestration.compiler.logical.instances import PrimitiveInstance
from streams_orchestration.compiler.logical.substitution import Substitution
from streams_orchestration.compiler.logical_graph import PlacementGroup, Tag, ThreadedPort, Threading
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.annotations import ThreadingAnnotation
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.placement import Config, Placement, ThreadedPortConfig


@dataclass(frozen=True, slots=True)
class _Introduced:
    """A config, the operator or composite that has it, and the number of its parallel regions, its own included."""

    config: Config
    introducer: str
    regions: int


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """The effective configs of one operator."""

    partition: PlacementGroup
    host_placement: PlacementGroup
    host: str | None
    host_pool: str | None
    restartable: bool
    relocatable: bool
    checkpoint: Any
    checkpoint_period: float | None
    uncommitted: bool
    complete_within: float | None
    threaded_ports: tuple[ThreadedPort, ...]


class Inheritance:
    """A search for the configs and annotations that an operator inherits from composites around it."""

    def __init__(self, application: Application, options: Options, substitution: Substitution) -> None:
        self.application = application
        self.options = options
        self.substitution = substitution

    def _search(self, operator: PrimitiveInstance) -> Iterator[_Introduced]:
        """Yield all configs in effect: own, invocations inner to outer, definitions inner to outer, application."""
        yield _Introduced(operator.invocation.config, operator.name, len(operator.regions))
        around = operator.parent.enclosing()
        for instance in around:
            if instance.invocation is not None:
                yield _Introduced(instance.invocation.config, instance.name, len(instance.regions))
        for instance in around:
            yield _Introduced(instance.definition.config, instance.name, len(instance.regions))
        yield _Introduced(self.application.config, self.application.application, 0)

    def config(self, operator: PrimitiveInstance) -> EffectiveConfig:
        """Return the effective configs of one operator; report values that are wrong or without effect."""
        configs = [each for each in self._search(operator) if each.config.model_fields_set]
        partition = self._group(configs, "partition", operator)
        host_placement = self._group(configs, "host", operator)
        host = host_pool = None
        for each in configs:
            placement = each.config.placement
            if placement is not None and (placement.host is not None or placement.host_pool is not None):
                host = self._text(placement.host, placement, "host", operator.name)
                host_pool = self._text(placement.host_pool, placement, "hostPool", operator.name)
                pools = [pool.name for pool in self.application.host_pools]
                if host_pool != placement.host_pool and host_pool not in pools:
                    message = f"there is no host pool {host_pool}{nearest(host_pool or '', pools)}"
                    self.substitution.report("SO0404", message, operator.name, placement, "hostPool")
                break
        restartable, relocatable = self._restart(configs, operator.name)
        checkpoint, period = self._checkpoint(configs, operator.name)
        if checkpoint is not None and not restartable:
            message = "a checkpoint has no effect on an operator that is not restartable"
            self.substitution.report("CDISP0429W", message, operator.name, operator.invocation, "config")
        ports = range(len(operator.invocation.inputs))
        queues = {queue.port: queue for queue in operator.invocation.config.threaded_port if queue.port in ports}
        return EffectiveConfig(
            partition=partition,
            host_placement=host_placement,
            host=host,
            host_pool=host_pool,
            restartable=restartable,
            relocatable=relocatable,
            checkpoint=checkpoint,
            checkpoint_period=period,
            uncommitted=self._first(configs, lambda config: config.visibility)[0] == "read_uncommitted",
            complete_within=self._complete_within(configs, operator),
            threaded_ports=tuple(
                ThreadedPort(port, queues[port].congestion_policy, self._queue_size(queues[port], operator.name))
                for port in sorted(queues)
            ),
        )

    def _complete_within(self, configs: list[_Introduced], operator: PrimitiveInstance) -> float | None:
        """Check and return the config `completeWithin` of a sink: the seconds that results may be behind the present.

        The result is None without such a bound, and for an operator with output streams, whose own bound is reported.
        A bound that is not above 0 is reported, and returned all the same.
        """
        own = operator.invocation.config
        if operator.invocation.outputs:
            if own.complete_within is not None:
                message = "completeWithin is for sinks, but this operator has output streams"
                self.substitution.report("SO0806", message, operator.name, own, "completeWithin")
            return None
        value, config = self._first(configs, lambda config: config.complete_within)
        if config is None:
            return None
        seconds, _ = self.substitution.number(value, config, "completeWithin", operator.name)
        if seconds is not None and seconds <= 0:
            message = f"completeWithin must be above 0, not {seconds:g}"
            self.substitution.report("SO0401", message, operator.name, config, "completeWithin")
        return seconds

    def _queue_size(self, queue: ThreadedPortConfig, operator: str) -> int:
        """Return the size of a queue in tuples; report a size that is not an int32 of at least 1, and take 1 then.

        A missing submission-time value gives 1 as well (rule 64).
        """
        size, origin = self.substitution.annotation(queue.queue_size, queue, "queueSize", operator)
        if size is None:
            return 1
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < 2**31:
            message = f"the queue size must be an int32 of at least 1, but {origin} is {size}"
            self.substitution.report("CDISP0090E", message, operator, queue, "queueSize")
            return 1
        return size

    def _text(self, text: str | None, placement: Placement, key: str, operator: str) -> str | None:
        return None if text is None else str(self.substitution.value(text, placement, key, operator=operator))

    def _group(self, configs: list[_Introduced], prefix: str, operator: PrimitiveInstance) -> PlacementGroup:
        """Return a placement group, entirely from the nearest config that sets any of its members (rule 42).

        It is empty without such a config. Wrong tags are reported.
        """
        members = tuple(f"{prefix}_{member}" for member in ("isolation", "colocation", "exlocation"))
        for each in configs:
            placement = each.config.placement
            if placement is None or all(getattr(placement, member) is None for member in members):
                continue
            isolation, colocation, exlocation = (getattr(placement, member) for member in members)
            first = next(to_camel(member) for member in members if getattr(placement, member) is not None)
            return PlacementGroup(
                bool(isolation),
                tuple(self._tag(tag, each, placement, members[1], operator) for tag in colocation or ()),
                tuple(self._tag(tag, each, placement, members[2], operator) for tag in exlocation or ()),
                each.introducer,
                placement.location(first),
            )
        return PlacementGroup()

    def _tag(
        self, text: str, origin: _Introduced, placement: Placement, member: str, operator: PrimitiveInstance
    ) -> Tag:
        key = to_camel(member)
        bare = text.replace(" ", "")
        if bare in ("byChannel()", "byReplica()"):
            if self.options.faithful:
                origin = self._by_text(text, member, operator) or origin
            if bare == "byReplica()":
                return Tag("byReplica", origin.introducer)
            # Introduced outside of all regions, the outermost level counts (rule 46).
            return Tag("byChannel", origin.introducer, max(origin.regions - 1, 0))
        if "byChannel()" in bare or "byReplica()" in bare:
            message = f"{text!r}: byChannel() and byReplica() are tags of their own, not parts of one"
            self.substitution.report("SO0010", message, operator.name, placement, key)
        return Tag("plain", str(self.substitution.value(text, placement, key, operator=operator.name)))

    def _by_text(self, text: str, member: str, operator: PrimitiveInstance) -> _Introduced | None:
        """Return the innermost composite around the operator whose config has a placement tag with this text.

        The result is None if there is no such composite, or if the operator itself has the tag. Streams names the
        composite as the origin of the tag, even if the config of another composite supplies the tag.
        """
        own = operator.invocation.config.placement
        if own is not None and text in (getattr(own, member) or ()):
            return None
        for instance in operator.parent.enclosing():
            outer = instance.invocation.config if instance.invocation is not None else instance.definition.config
            config = outer if outer.placement is not None else instance.definition.config
            if config.placement is not None and text in (getattr(config.placement, member) or ()):
                return _Introduced(config, instance.name, len(instance.regions))
        return None

    def _first(self, configs: list[_Introduced], read: Callable[[Config], Any]) -> tuple[Any, Config | None]:
        for each in configs:
            value = read(each.config)
            if value is not None:
                return value, each.config
        return None, None

    def _restart(self, configs: list[_Introduced], operator: str) -> tuple[bool, bool]:
        """Return `restartable` and `relocatable`, which are true by default (A48); report wrong values.

        If only `restartable` is set, `relocatable` has its value; `relocatable` says nothing about `restartable`.
        """
        flags: list[bool | None] = []
        for key in ("restartable", "relocatable"):
            value, config = self._first(configs, lambda config, key=key: getattr(config, key))
            flags.append(None if config is None else self.substitution.boolean(value, config, key, operator))
        restartable, relocatable = flags
        if relocatable is None:
            relocatable = restartable is not False
        return restartable is not False, relocatable

    def _checkpoint(self, configs: list[_Introduced], operator: str) -> tuple[Any, float | None]:
        checkpoint, config = self._first(configs, lambda config: config.checkpoint)
        if checkpoint is None or config is None:
            return None, None
        if checkpoint.operator_driven:
            return "operatorDriven", None
        period, _ = self.substitution.number(checkpoint.periodic, checkpoint, "periodic", operator)
        if period is not None and period <= 0:
            message = f"the checkpoint period must be above 0, not {period}"
            location = checkpoint.location("periodic") or config.location("checkpoint")
            self.substitution.diagnostics.append(
                Diagnostic.of("CDISP0410E", message, operator=operator, location=location)
            )
        return "periodic", period

    def threading(self, operator: PrimitiveInstance) -> Threading:
        """Return the nearest threading annotation: innermost composite first, invocation before definition.

        The application's annotation comes last, and without it the option `threading` sets the model. If a
        submission-time value gives less than 1 thread, this is reported, and the number is returned all the same.
        """
        for instance in operator.parent.enclosing():
            invoked = [instance.invocation.annotations] if instance.invocation is not None else []
            for annotation in (*invoked, instance.definition.annotations):
                if annotation.threading is not None:
                    return self._threading(annotation.threading, instance.name, instance.name)
        own = self.application.annotations.threading
        if own is not None:
            return self._threading(own, "", self.application.application)
        return Threading(model=self.options.threading)

    def atomic(self, operator: PrimitiveInstance) -> str | None:
        """Return the tag of the operator's own `atomic`, or else the tag of its innermost enclosing invocation.

        None if none has one. Wrong references in the tag, and channel functions, are reported.
        """
        for instance in (operator, *operator.parent.enclosing()):
            annotations = instance.invocation.annotations if instance.invocation is not None else None
            if annotations is not None and annotations.atomic is not None:
                text = annotations.atomic
                return str(self.substitution.value(text, annotations, "atomic", operator=operator.name, channels=False))
        return None

    def _threading(self, annotation: ThreadingAnnotation, operator: str, introducer: str) -> Threading:
        threads, origin = self.substitution.number(annotation.threads, annotation, "threads", operator, integer=True)
        if origin and threads is not None and threads < 1:
            message = f"threads must be at least 1, but {origin} is {threads}"
            self.substitution.report("SO0401", message, operator, annotation, "threads")
        elastic = self.substitution.boolean(annotation.elastic, annotation, "elastic", operator)
        return Threading(
            annotation.model,
            explicit=True,
            threads=threads,
            elastic=elastic,
            introducer=introducer,
            location=annotation.location("model"),
        )
