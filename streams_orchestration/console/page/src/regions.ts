// The regions of an application: states, epochs, cuts, resets with their phases, and their course over time.

import { button, choice, clock, el, folded, labelled, prose, seconds, svg, type Child } from "./dom";
import type { Recovery, Snapshot, SubjectKind, UnitNow } from "./types";

/** The phases of a reset, each with the event that ends it. */
const PHASES = [
  ["detect", "a reset: until the failure is detected"], ["decide", "then until it is taken up"], ["hosts", "then until all hosts are there"],
  ["restart", "then until every PE runs"], ["first commit", "then until the first commit"],
] as const;
/** The states of a unit that can no longer be reset. */
const ENDED = ["COMPLETED", "STOPPED"];
const WHOLE = "0";
const SPANS = [
  ["60", "1 min"], ["300", "5 min"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "24 h"], [WHOLE, "since deployment"],
] as const;

export class Regions {
  readonly element = el("section", { class: "regions", "aria-label": "Regions", tabindex: "0" });
  private readonly list = el("div", { class: "units" });
  private readonly plot = svg("svg", { class: "timeline", role: "img", "aria-label": "Epochs, failures and resets over time" });
  private readonly signs = el("ul", { class: "signs", "aria-label": "Legend" });
  private span = 300;
  private last: Snapshot | null = null;

  /** Requests a reset; null if the page may only read. */
  reset: ((unit: string) => void) | null = null;

  constructor(private readonly open: (kind: SubjectKind, name: string) => void) {
    const spans = choice("span", SPANS);
    spans.value = String(this.span);
    spans.addEventListener("change", () => {
      this.span = Number(spans.value);
      this.draw();
    });
    this.element.append(el("h2", {}, "Over time"), labelled("Time range", spans), this.plot as unknown as Node, this.signs,
      el("h2", {}, "Now"), this.list);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  update(snapshot: Snapshot): void {
    this.last = snapshot;
    if (this.element.hidden) return;
    this.draw();
    const controls = (): HTMLElement[] => [...this.list.querySelectorAll<HTMLElement>("button, summary")];
    const focused = controls().indexOf(document.activeElement as HTMLElement);
    this.list.replaceChildren(...snapshot.units.map((unit) => this.unit(unit, snapshot)));
    controls()[focused]?.focus();
  }

  /** Returns the seconds to show, at most back to the deployment. */
  private shownSpan(): number {
    const whole = Math.max(10, this.last!.at - this.last!.deployed_at);
    return Math.min(this.span || whole, whole);
  }

  private unit(unit: UnitNow, snapshot: Snapshot): HTMLElement {
    const failure = snapshot.failures.find((each) => each.unit === unit.name);
    const cut = unit.cuts.at(-1);
    const facts: [string, Child][] = [
      ["Epochs", `${unit.completed_epoch} complete, ${unit.open_epoch} open`],
      ["Last cut", cut ? `epoch ${cut[0]}, ${seconds(snapshot.at - cut[1])} ago, took ${seconds(cut[2])}` : "none yet"],
      ["Period", unit.period ? seconds(unit.period) : null],
      ["Resets", unit.resets ? `${unit.resets}; ${unit.attempts} of ${unit.max_attempts} allowed since the last epoch` : "none"],
    ];
    const list = el("dl", {});
    for (const [name, value] of facts) if (value) list.append(el("dt", {}, name), el("dd", {}, value));
    const pes = el("p", {}, "PEs: ");
    for (const pe of unit.pes.slice(0, 20)) {
      pes.append(button(`PE ${pe}`, () => this.open("pe", String(pe)), { class: "link-button" }), " ");
    }
    if (unit.pes.length > 20) pes.append(`and ${unit.pes.length - 20} more`);
    const { reset } = this;
    const again = reset && !ENDED.includes(unit.state) && el("button", { type: "button", "data-reset": unit.name }, "Reset to the last cut");
    if (again) again.addEventListener("click", () => reset!(unit.name));
    const state = failure ? "FAILED" : unit.state;
    const subject: [SubjectKind, string] = unit.region === null ? ["pe", String(unit.pes[0])] : ["region", String(unit.region)];
    const details = button(unit.name, () => this.open(...subject), { class: "link-button", title: "Show the details" });
    return el("article", { class: `unit${failure ? " broken" : ""}` },
      el("h3", {}, details, " ", el("span", { class: `chip ${chip(state)}` }, state)), trouble(unit, failure),
      list, pes, again, unit.recoveries.length > 0 && el("h4", {}, "Last resets"), recoveries(unit));
  }

  private draw(): void {
    if (!this.last || !this.element.clientWidth) return;
    const units = this.last.units.filter((unit) => unit.cuts.length || unit.recoveries.length || unit.region !== null);
    const width = this.element.clientWidth - 40;
    const now = this.last.at;
    const span = this.shownSpan();
    const left = width < 600 ? 74 : 120;
    const at = (time: number): number => left + (1 - (now - time) / span) * (width - left - 8);
    const inside = (time: number): number => Math.min(Math.max(at(time), left), width - 8);
    const row = 34;
    const height = 26 + row * Math.max(1, units.length);
    const parts: SVGElement[] = [];
    const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400].find((each) => span / each <= width / 110) ?? 86400;
    for (let tick = Math.ceil((now - span) / step) * step; tick <= now; tick += step) {
      parts.push(svg("path", { class: "tick", d: `M${at(tick)} 20V${height}` }));
      parts.push(svg("text", { class: "time", x: Math.min(at(tick), width - 30), y: 13, "text-anchor": "middle" }, clock(tick)));
    }
    units.forEach((unit, number) => {
      const y = 24 + row * number;
      parts.push(svg("text", { class: "lane", x: 0, y: y + 18 }, unit.name));
      parts.push(svg("rect", { class: "works", x: left, y: y + 4, width: width - left - 8, height: 20, rx: 3 }));
      const [oldest] = unit.cuts;
      if (oldest && oldest[0] > 1 && at(oldest[1] - oldest[2]) > left) {
        parts.push(svg("rect", { class: "unknown", x: left, y: y + 4, width: at(oldest[1] - oldest[2]) - left, height: 20 },
          svg("title", {}, "earlier epochs are no longer recorded")));
      }
      const { broken } = unit;
      if (broken) {
        const title = `${broken.cause}; ${seconds(now - broken.since)}`;
        const from = inside(broken.since);
        parts.push(svg("rect", { class: "broken", x: from, y: y + 4, width: Math.max(2, inside(now) - from), height: 20 },
          svg("title", {}, title)));
      }
      unit.recoveries.forEach((each, order) => {
        let begin = each.began;
        const end = each.ended ?? unit.recoveries[order + 1]?.began ?? now;
        const title = `${each.cause ?? "reset"}; back to epoch ${each.epoch}; ${seconds(end - begin)}`;
        parts.push(svg("rect", { class: "broken", x: inside(begin), y: y + 4, width: Math.max(2, inside(end) - inside(begin)), height: 20 },
          svg("title", {}, title)));
        PHASES.forEach(([phase], order) => {
          const length = each.phases[phase];
          if (length === undefined) return;
          const [from, to] = [inside(begin), inside(begin + length)];
          begin += length;
          if (to > from) {
            parts.push(svg("rect", { class: `phase-${order}`, x: from, y: y + 14, width: to - from, height: 10 },
              svg("title", {}, `${phase}: ${seconds(length)}`)));
          }
        });
      });
      for (const [epoch, time, took] of unit.cuts) {
        if (time < now - span) continue;
        parts.push(svg("path", { class: "cut", d: `M${at(time)} ${y + 6}v16` }, svg("title", {}, `epoch ${epoch}, took ${seconds(took)}`)));
      }
    });
    this.signs.replaceChildren(...legend((sign) => parts.some((each) => each.classList.contains(sign))));
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot.setAttribute("height", String(height));
    this.plot.replaceChildren(...parts);
  }
}

/** Returns the first line of the reason why a unit does not work; unfolding it shows the rest and the remedy. */
function trouble(unit: UnitNow, failure: Snapshot["failures"][number] | undefined): HTMLElement | null {
  if (!unit.unstable && !failure) return null;
  const text = unit.unstable ? `Not stable: ${unit.unstable}` : failure!.reason;
  const other = unit.unstable && failure?.hopeless && el("p", {}, failure.reason);
  return el("div", { class: "trouble" }, folded(`unit ${unit.name}`, text, other, failure && el("p", {}, ...prose(failure.remedy))));
}

/** Returns the legend of the time line: the signs that occur in it, in words. */
function legend(occurs: (sign: string) => boolean): HTMLElement[] {
  const signs: [sign: string, text: string][] = [
    ["works", "no failure is known"], ["cut", "an epoch is complete"], ["broken", "failed"], ["unknown", "epochs are no longer recorded"],
    ...PHASES.map(([, words], number): [string, string] => [`phase-${number}`, words]),
  ];
  return signs.filter(([sign]) => occurs(sign)).map(([sign, text]) => el("li", {}, el("i", { class: `sign-${sign}` }), text));
}

function recoveries({ name, recoveries: all }: UnitNow): HTMLElement | null {
  if (!all.length) return null;
  const outcome = (each: Recovery): string => {
    if (each.given_up) return "attempts used up";
    if (each.ended) return `took ${seconds(each.ended - each.began)}`;
    return each === all.at(-1) ? "under way" : "failed";
  };
  const rows = all.slice(-8).reverse().map((each) =>
    el("tr", {}, el("td", {}, clock(each.began)), el("td", {}, each.cause ? folded(`reset ${name} ${each.began}`, each.cause) : "requested"), el("td", {}, String(each.epoch)),
      el("td", {}, outcome(each)),
      el("td", {}, PHASES.map(([phase]) => phase).filter((phase) => phase in each.phases).map((phase) => `${phase} ${seconds(each.phases[phase]!)}`).join(", "))));
  const head = el("tr", {}, ...["Time", "Cause", "Back to epoch", "Duration", "Phases"].map((text) => el("th", { scope: "col" }, text)));
  return el("div", { class: "resets" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

export function chip(state: string): string {
  if (["PROCESSING", "RUNNING", "DRAINING", "COMPLETED", "STARTED"].includes(state)) return "good";
  return ["RESETTING", "STARTING", "STOPPED", "SUBMITTED"].includes(state) ? "waits" : "bad";
}
