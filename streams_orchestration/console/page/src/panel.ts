// The panel beside the graph: facts, figures and reasons of an operator, stream, PE or region.

import uPlot from "uplot";
import { bytes, clock, count, el, percent, prose, seconds, short, type Child } from "./dom";
import type { Item } from "./model";
import { sampleOf } from "./sample";
import type { Source } from "./source";
import type { Series, Subject, SubjectKind, UnitNow } from "./types";

const TITLES: Record<SubjectKind, string> = { operator: "Operator", stream: "Stream", pe: "PE", region: "Region" };

/** The most operators of a PE that have a link; the graph has all. */
const LINKED = 12;

/** Facts about a subject that its document does not have. */
export interface Known {
  unit?: UnitNow | undefined;
  trouble?: string | null;
  /** Marks of an operator: it splits, starts or ends a region, or is locked. */
  marks?: string[];
  /** The consistent region of an operator or a PE; -1 for none. */
  region?: number;
}

/** Returns the facts that a graph has about an operator or a box. */
export function known({ operator, box }: Item): Known {
  return { marks: operator?.marks ?? [], region: operator?.region ?? box!.region };
}

export interface Open {
  (kind: SubjectKind, name: string): void;
}

export class Panel {
  readonly element = el("aside", { class: "panel", "aria-label": "Details", hidden: "" });
  private plots: uPlot[] = [];
  private shown = "";
  private drawn = "";

  constructor(
    private readonly source: Pick<Source, "subject" | "history" | "sample">,
    private readonly open: Open,
    private readonly closed: () => void,
  ) {}

  async show(application: string, kind: SubjectKind, name: string, known: Known): Promise<void> {
    const key = `${application} ${kind} ${name}`;
    this.shown = key;
    const [subject, series, sampled] = await Promise.all([
      this.source.subject(application, kind, name).catch((error: Error) => error),
      kind === "operator" || kind === "pe"
        ? this.source.history(application, kind === "pe" ? `PE ${name}` : name).catch(() => null)
        : null,
      kind === "stream" ? this.source.sample(application, name).catch(() => null) : null,
    ]);
    if (this.shown !== key) return;
    this.plots.forEach((plot) => plot.destroy());
    this.plots = [];
    const close = el("button", { type: "button", class: "close", "aria-label": "Close the details" }, "×");
    close.addEventListener("click", () => this.hide());
    const head = el("div", { class: "head" }, el("h2", {}, `${TITLES[kind]} ${name}`), close);
    this.element.hidden = false;
    if (subject instanceof Error) {
      this.element.replaceChildren(head, el("p", { class: "trouble" }, subject.message));
      return;
    }
    const charts = el("div", { class: "plots" });
    const parts = [...this.parts(subject, known), sampled && sampleOf(sampled), charts, ...reasons(subject), ...log(subject)];
    const top = this.drawn === key ? this.element.scrollTop : 0;
    this.drawn = key;
    this.element.replaceChildren(head, ...parts.filter((part): part is Node => part instanceof Node));
    if (series) this.plot(charts, series);
    this.element.scrollTop = top;
  }

  hide(): void {
    this.shown = "";
    this.element.hidden = true;
    this.closed();
  }

  private parts(subject: Subject, { unit, trouble, marks, region = -1 }: Known): Child[] {
    const rows: [string, Child][] = [];
    const causes: string[] = [];
    const add = (name: string, value: Child): void => {
      if (value) rows.push([name, value]);
    };
    add("Kind", subject.operator);
    add("Class", subject.implementation);
    add("Location", subject.location);
    add("Role", marks?.join(", "));
    if (region >= 0) add("Region", this.link("region", String(region), `Region ${region}`));
    add("Schema", subject.schema);
    if (subject.producer) add("From", this.link("operator", subject.producer));
    for (const output of subject.outputs ?? []) {
      add("Output", el("span", {}, this.link("stream", output.stream), output.schema ? ` ${output.schema}` : ""));
    }
    const state = subject.state;
    if (state) {
      add("State", String(state.state));
      add("Batch, epoch", `${state.batch}, ${state.epoch}`);
      add("Rows in, out", `${count(Number(state.rows_in))}, ${count(Number(state.rows_out))}`);
      const error = state.error ? String(state.error) : trouble;
      if (error) causes.push(error);
      const operators = state.operators as string[];
      const more = operators.length > LINKED && `and ${operators.length - LINKED} more`;
      add("Operators", el("span", {}, ...operators.slice(0, LINKED).flatMap((each) => [this.link("operator", each), " "]), more));
    }
    const metrics = subject.metrics;
    if (metrics) {
      if (metrics.tuples_per_second != null) add("Rate", `${short(Number(metrics.tuples_per_second))} tuples/s`);
      if (metrics.cores != null) add("Processor", percent(Number(metrics.cores)));
      if (metrics.state_bytes) add("State size", bytes(Number(metrics.state_bytes)));
      for (const port of (metrics.inputs ?? []) as Record<string, number>[]) add(`Input ${port.port}`, `${count(port.tuples!)} tuples`);
      for (const port of (metrics.outputs ?? []) as Record<string, number>[]) add(`Output ${port.port}`, `${count(port.tuples!)} tuples`);
      for (const each of (metrics.custom ?? []) as { name: string; value: number; description: string }[]) {
        add(each.name, el("span", { title: each.description }, short(each.value)));
      }
      for (const each of (metrics.readers ?? []) as Record<string, number>[]) {
        add(`PE ${each.pe} reads`, `${count(each.lag_tuples!)} tuples behind, in ${each.lag_segments} ${each.lag_segments === 1 ? "segment" : "segments"}`);
      }
    }
    const time = subject.event_time;
    if (time) {
      add("Watermark", time.age == null ? time.reached : `${time.reached}, ${seconds(time.age)} behind now`);
      add("What holds it", el("span", {}, ...prose(time.why)));
      if (time.path.length) add("Path to the cause", el("span", {}, ...time.path.flatMap((each) => [this.link("operator", each), " "])));
      if (time.inputs > 1) add("Inputs of it", `${count(time.inputs)}, ${count(time.idle_inputs)} of them idle`);
    }
    if (unit) {
      add(state ? "Unit" : "State", state ? `${unit.name}, ${unit.state}` : unit.state);
      if (!state) add("PEs", el("span", {}, ...unit.pes.slice(0, LINKED).flatMap((each) => [this.link("pe", String(each), `PE ${each}`), " "]), unit.pes.length > LINKED && `and ${unit.pes.length - LINKED} more`));
      add("Last complete epoch", String(unit.completed_epoch));
      add("Resets", String(unit.resets));
      if (unit.cause && !causes.length) causes.push(unit.cause);
    }
    const list = el("dl", {});
    for (const [name, value] of rows) list.append(el("dt", {}, name), el("dd", {}, value));
    const parts: Child[] = [...causes.map((each) => el("p", { class: "trouble" }, ...prose(each))), list];
    const parameters = subject.parameters as Record<string, unknown> | undefined;
    if (parameters && Object.keys(parameters).length) {
      parts.push(el("h3", {}, "Parameters"), el("pre", { tabindex: "0" }, JSON.stringify(parameters, null, 1)));
    }
    const types = Object.entries(subject.types ?? {});
    if (types.length) {
      const typed = el("dl", {});
      for (const [name, type] of types) typed.append(el("dt", {}, name), el("dd", {}, type));
      parts.push(el("h3", {}, "Types of the expressions"), typed);
    }
    return parts;
  }

  private link(kind: SubjectKind, name: string, text = name): HTMLElement {
    const made = el("button", { type: "button", class: "link-button" }, text);
    made.addEventListener("click", () => this.open(kind, name));
    return made;
  }

  private plot(place: HTMLElement, series: Series): void {
    const drawn: [keyof Omit<Series, "at">, string, (value: number) => string][] = [
      ["rate", "Tuples a second", short],
      ["cores", "Processor", percent],
      ["lag", "Lag", seconds],
      ["state", "State", bytes],
    ];
    const { color: ink, accentColor } = getComputedStyle(this.element);
    for (const [name, title, words] of drawn) {
      const values = series[name];
      if (series.at.length < 2 || !values.some((value) => value)) continue;
      const axis = { stroke: ink, grid: { stroke: "#8884" }, ticks: { stroke: "#8884" } };
      place.append(el("h3", {}, `${title}: ${words(values.at(-1) ?? 0)}`));
      this.plots.push(
        new uPlot(
          {
            width: Math.max(240, this.element.clientWidth - 40),
            height: 110,
            legend: { show: false },
            cursor: { y: false },
            scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
            axes: [{ ...axis, size: 28, space: 76, values: (_plot, ticks) => ticks.map(clock) }, { ...axis, size: 60, values: (_plot, ticks) => ticks.map(words) }],
            series: [{}, { stroke: accentColor, width: 1.5, fill: "#2563eb22", spanGaps: false }],
          },
          [series.at, values],
          place,
        ),
      );
    }
  }
}

function reasons(subject: Subject): Child[] {
  const parts: Child[] = [];
  for (const section of subject.explanation?.sections ?? []) {
    parts.push(el("h3", {}, section.title));
    const list = el("ul", {});
    for (const fact of section.facts) {
      const note = [fact.rules.length ? `rule ${fact.rules.join(", ")}` : "", fact.location].filter(Boolean).join(" · ");
      list.append(el("li", {}, fact.text, note && el("small", {}, ` ${note}`)));
    }
    parts.push(list);
  }
  return parts;
}

function log(subject: Subject): Child[] {
  if (!subject.log) return [];
  return [
    el("h3", {}, "Log"),
    el("pre", { tabindex: "0", class: "log", "aria-label": `Last lines of ${subject.log.path}` },
      subject.log.lines.join("\n") || "empty"),
    el("small", {}, `${subject.log.path} · ${clock(Date.now() / 1000)}`),
  ];
}
