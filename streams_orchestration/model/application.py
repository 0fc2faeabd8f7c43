"""The model of a spec: the application as its author writes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from streams_orchestration.model.annotations import Annotations
from streams_orchestration.model.containers import is_list, listed
from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.operators import OperatorModel
from streams_orchestration.model.placement import Config, HostPoolDeclaration
from streams_orchestration.model.values import (
    ApplicationName,
    DefinitionName,
    Flag,
    Identifier,
    Name,
    Number,
    Parameter,
    SubmissionName,
    SubmissionValue,
    Text,
    TimeZone,
    Uid,
    show,
)


def _version(value: Any) -> Any:
    if type(value) is not int or value != 1:
        refuse("SO0010", "{found} is not a version of the format; 1 is", found=show(value))
    return value


class InputBinding(Element):
    """The streams of one input port of an invocation, and the port's properties."""

    streams: Annotated[tuple[Text, ...], BeforeValidator(listed)] = ()
    name: Name | None = None
    control: Flag = False
    mutates: tuple[Text, ...] | None = None
    """For a Custom only: the attributes that the port's logic changes (rule 79); [] means none.

    None takes them from the operator's model.
    """

    @model_validator(mode="before")
    @classmethod
    def _from_streams(cls, value: Any) -> Any:
        return {"streams": value} if isinstance(value, str) or is_list(value) else value


class OutputBinding(Element):
    """One output stream of an invocation."""

    stream: Name
    tuple_type: Text | None = Field(default=None, alias="schema")
    """A name in `schemas`, or a tuple type in Spark's DDL; None if the operator determines it."""
    rate: Number | None = None
    """The expected rate, in tuples per second; None if unknown."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"stream": value} if isinstance(value, str) else value


class Invocation(Element):
    """One use of an operator or composite in a graph."""

    name: Name
    operator: Text
    inputs: tuple[InputBinding, ...] = ()
    outputs: tuple[OutputBinding, ...] | None = None
    """The output streams. None means the default: one stream with the invocation's name, or no stream for a sink."""
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    annotations: Annotations = Annotations()
    config: Config = Config()
    uid: Uid | None = None
    """The identity across redeploys, which survives renaming and regrouping; by default the full name."""


class Composite(Element):
    """A graph with ports, usable as an operator."""

    inputs: tuple[Name, ...] = ()
    outputs: tuple[Name, ...] = ()
    """For each output port, the name of the stream inside the composite that leaves through it."""
    annotations: Annotations = Annotations()
    """Annotations of the definition; only `threading` is allowed (rule 67, A8)."""
    config: Config = Config()
    graph: tuple[Invocation, ...] = ()


class Application(Element):
    """A streaming application: its declarations and the graph of its main composite."""

    spec_version: Annotated[Literal[1], BeforeValidator(_version)] = 1
    application: ApplicationName
    description: Text = ""
    plan_only: Text = ""
    """The reason why the application compiles but cannot run; empty if it can run."""
    time_zone: TimeZone = "UTC"
    """The time zone of local times in expressions and queries."""
    submission: dict[SubmissionName, SubmissionValue] = Field(default_factory=dict)
    schemas: dict[Identifier, Text] = Field(default_factory=dict)
    operators: dict[DefinitionName, OperatorModel] = Field(default_factory=dict)
    composites: dict[DefinitionName, Composite] = Field(default_factory=dict)
    host_pools: tuple[HostPoolDeclaration, ...] = ()
    annotations: Annotations = Annotations()
    """Annotations of the main composite; only `threading` is allowed."""
    config: Config = Config()
    """The config of the main composite, which an operator inherits if no composite around it has one."""
    graph: tuple[Invocation, ...] = ()

    @property
    def name(self) -> str:
        """The application's name (the key `application`)."""
        return self.application
