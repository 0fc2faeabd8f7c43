// The regions of an application: states, epochs, cuts, resets with their phases, and all of that over time.

import { choice, clock, el, labelled, seconds, svg, type Child } from "./dom";
import type { Recovery, Snapshot, UnitNow } from "./types";

const PHASES = ["detect", "decide", "hosts", "restart", "first commit"];
/** States from which nothing goes back to a cut. */
const ENDED = ["COMPLETED", "STOPPED"];
const WHOLE = "0";
const SPANS = [
  ["60", "1 min"], ["300", "5 min"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "24 h"], [WHOLE, "since deployment"],
] as const;

export class Regions {
  readonly element = el("section", { class: "regions", "aria-label": "Regions", tabindex: "0" });
  private readonly list = el("div", { class: "units" });
  private readonly plot = svg("svg", { class: "timeline", role: "img", "aria-label": "Epochs, failures and resets over time" });
  private span = 300;
  private last: Snapshot | null = null;

  /** Null where the page may only read. */
  reset: ((unit: string) => void) | null = null;

  constructor(private readonly openPe: (pe: number) => void) {
    const spans = choice("span", SPANS);
    spans.value = String(this.span);
    spans.addEventListener("change", () => {
      this.span = Number(spans.value);
      this.draw();
    });
    const sign = (name: string, text: string): HTMLElement => el("li", {}, el("i", { class: `sign-${name}` }), text);
    const signs = el("ul", { class: "signs", "aria-label": "Legend" }, sign("cut", "epoch complete"), sign("broken", "failed"), sign("unknown", "no longer recorded"),
      ...PHASES.map((phase, number) => sign(`phase phase-${number}`, `reset: ${phase}`)));
    this.element.append(el("h2", {}, "Over time"), labelled("Time range", spans), this.plot as unknown as Node, signs,
      el("h2", {}, "Now"), this.list);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  update(snapshot: Snapshot): void {
    this.last = snapshot;
    if (this.element.hidden) return;
    this.draw();
    const focused = [...this.list.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    this.list.replaceChildren(...snapshot.units.map((unit) => this.unit(unit, snapshot)));
    if (focused >= 0) this.list.querySelectorAll("button")[focused]?.focus();
  }

  /** Seconds that are shown: never from before the deployment on. */
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
      ["Resets", `${unit.resets}; ${unit.attempts} of ${unit.max_attempts} attempts since the last epoch`],
    ];
    const list = el("dl", {});
    for (const [name, value] of facts) if (value) list.append(el("dt", {}, name), el("dd", {}, value));
    const pes = el("p", {}, "PEs: ");
    for (const pe of unit.pes.slice(0, 20)) {
      const link = el("button", { type: "button", class: "link-button" }, `PE ${pe}`);
      link.addEventListener("click", () => this.openPe(pe));
      pes.append(link, " ");
    }
    if (unit.pes.length > 20) pes.append(`and ${unit.pes.length - 20} more`);
    const { reset } = this;
    const again = reset && !ENDED.includes(unit.state) && el("button", { type: "button", "data-reset": unit.name }, "Reset to the last cut");
    if (again) again.addEventListener("click", () => reset!(unit.name));
    const state = failure ? "FAILED" : unit.state;
    return el("article", { class: `unit${failure ? " broken" : ""}` },
      el("h3", {}, unit.name, " ", el("span", { class: `chip ${chip(state)}` }, state)),
      unit.unstable && el("p", { class: "trouble" }, `Crash loop: ${unit.unstable}`),
      failure && el("p", { class: "trouble" }, unit.unstable && !failure.hopeless ? failure.remedy : `${failure.reason.replace(/\.$/, "")}. ${failure.remedy}`),
      list, pes, again, recoveries(unit.recoveries));
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
        for (const phase of PHASES) {
          const length = each.phases[phase];
          if (length === undefined) continue;
          const [from, to] = [inside(begin), inside(begin + length)];
          begin += length;
          if (to > from) {
            parts.push(svg("rect", { class: `phase phase-${PHASES.indexOf(phase)}`, x: from, y: y + 14, width: to - from, height: 10 },
              svg("title", {}, `${phase}: ${seconds(length)}`)));
          }
        }
      });
      for (const [epoch, time, took] of unit.cuts) {
        if (time < now - span) continue;
        parts.push(svg("path", { class: "cut", d: `M${at(time)} ${y + 6}v16` }, svg("title", {}, `epoch ${epoch}, took ${seconds(took)}`)));
      }
    });
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot.setAttribute("height", String(height));
    this.plot.replaceChildren(...parts);
  }
}

function recoveries(all: Recovery[]): HTMLElement | null {
  if (!all.length) return null;
  const outcome = (each: Recovery): string => {
    if (each.given_up) return "attempts used up";
    if (each.ended) return seconds(each.ended - each.began);
    return each === all.at(-1) ? "running" : "failed";
  };
  const rows = all.slice(-8).reverse().map((each) =>
    el("tr", {}, el("td", {}, clock(each.began)), el("td", {}, each.cause ?? "requested"), el("td", {}, String(each.epoch)),
      el("td", {}, outcome(each)),
      el("td", {}, PHASES.filter((phase) => phase in each.phases).map((phase) => `${phase} ${seconds(each.phases[phase]!)}`).join(", "))));
  const head = el("tr", {}, ...["Time", "Cause", "Back to epoch", "Duration", "Phases"].map((text) => el("th", { scope: "col" }, text)));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Resets" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

export function chip(state: string): string {
  if (["PROCESSING", "RUNNING", "DRAINING", "COMPLETED", "STARTED"].includes(state)) return "good";
  return ["RESETTING", "STARTING", "STOPPED", "SUBMITTED"].includes(state) ? "waits" : "bad";
}
