// The documents of the server. Times are Unix seconds; rates are tuples a second.

export interface Box {
  id: string;
  parent: string | null;
  kind: "pe" | "composite" | "replicas" | "channel";
  label: string;
  region: number;
  pe: number;
  host: number;
}

export interface Operator {
  name: string;
  kind: string;
  box: string | null;
  region: number;
  pe: number;
  marks: string[];
  logical: string;
}

export interface Edge {
  source: number;
  target: number;
  port: number;
  stream: string;
  passing: string;
  queue: boolean;
  network: boolean;
  split: boolean;
  reason: string;
}

export type View = "physical" | "logical";

export interface Graph {
  application: string;
  view: View;
  boxes: Box[];
  operators: Operator[];
  edges: Edge[];
}

export interface OperatorNow {
  rate: number | null;
  cores: number | null;
  state: number;
  lag: number | null;
  out: (number | null)[];
}

export interface PeNow {
  id: number;
  state: string;
  unit: string;
  host: number;
  epoch: number;
  batch: number;
  error: string | null;
  failed_times: number;
  /** The error of the PE or its host if the PE does not work though it should; else null. */
  trouble: string | null;
  rate: number | null;
  cores: number | null;
}

export interface Recovery {
  began: number;
  ended: number | null;
  cause: string | null;
  epoch: number;
  given_up: boolean;
  phases: Record<string, number>;
}

export interface UnitNow {
  name: string;
  region: number | null;
  state: string;
  since: number;
  generation: number;
  completed_epoch: number;
  open_epoch: number;
  completed_at: number | null;
  period: number | null;
  attempts: number;
  max_attempts: number;
  resets: number;
  pes: number[];
  cause: string | null;
  unstable: string | null;
  /** The time since when the unit needs a reset, and the cause; null if it needs none. */
  broken: { since: number; cause: string } | null;
  cuts: [number, number, number][];
  recoveries: Recovery[];
}

export interface StreamNow {
  name: string;
  pe: number;
  rate: number | null;
  readers: { pe: number; segments: number; tuples: number; seconds: number; pressure: number }[];
}

export interface Snapshot {
  application: string;
  at: number;
  state: string;
  fingerprint: string;
  deployed_at: number;
  measured: boolean;
  hosts: { id: number; state: string; process: string; alive: boolean; error: string | null }[];
  pes: PeNow[];
  units: UnitNow[];
  failures: { unit: string; reason: string; remedy: string; hopeless: string | null; due_at: number }[];
  operators: Record<string, OperatorNow>;
  streams: StreamNow[];
  sinks: { operator: string; place: string; rows: number; waiting: number; error: string | null }[];
}

export type SubjectKind = "operator" | "stream" | "pe" | "region";

export interface Subject {
  kind: SubjectKind;
  name: string;
  explanation?: {
    question: string;
    sections: { title: string; facts: { text: string; rules: string[]; location: string }[] }[];
  };
  operator?: string;
  implementation?: string | null;
  location?: string | null;
  parameters?: unknown;
  types?: Record<string, string>;
  logical?: string;
  physical?: string[];
  outputs?: { stream: string; schema: string | null }[];
  schema?: string | null;
  producer?: string;
  metrics?: Record<string, unknown> | null;
  event_time?: EventTime | null;
  state?: Record<string, unknown> | null;
  log?: { path: string; lines: string[] } | null;
}

/** The watermark of an operator, and the holder that keeps it from rising. */
export interface EventTime {
  /** The watermark as text. */
  reached: string;
  /** Seconds by which the watermark is behind the clock; null without a watermark in time. */
  age: number | null;
  why: string;
  /** The operators upstream, up to the one that holds the watermark. */
  path: string[];
  inputs: number;
  idle_inputs: number;
}

export interface Series {
  at: number[];
  rate: (number | null)[];
  cores: (number | null)[];
  lag: (number | null)[];
  state: (number | null)[];
}
