// The regions of an application: states, epochs, cuts, resets with their phases, and all of that over time.

import { clock, el, seconds, svg, type Child } from "./dom";
import type { Recovery, Snapshot, UnitNow } from "./types";

const PHASES = ["detect", "decide", "hosts", "restart", "first commit"];
/** States from which nothing goes back to a cut. */
const ENDED = ["COMPLETED", "STOPPED"];
const SPANS: [number, string][] = [[60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"], [0, "all"]];

export class Regions {
  readonly element = el("section", { class: "regions", "aria-label": "Regions", tabindex: "0" });
  private readonly list = el("div", { class: "units" });
  private readonly plot = svg("svg", { class: "timeline", role: "img", "aria-label": "Epochs, failures and resets over time" });
  private span = 300;
  private last: Snapshot | null = null;

  /** Null where the page may only read. */
  reset: ((unit: string) => void) | null = null;

  constructor(private readonly openPe: (pe: number) => void) {
    const choice = el("select", { id: "span" }) as HTMLSelectElement;
    for (const [value, text] of SPANS) choice.append(el("option", { value: String(value) }, text));
    choice.value = String(this.span);
    choice.addEventListener("change", () => {
      this.span = Number(choice.value);
      this.draw();
    });
    this.plot.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = Math.exp((event as WheelEvent).deltaY / 400);
      this.span = Math.min(86400, Math.max(10, (this.span || this.whole()) * factor));
      this.draw();
    }, { passive: false });
    const controls = el("p", { class: "controls" }, el("label", { for: "span" }, "Last "), choice,
      el("span", { class: "legend" }, "| an epoch is complete · red: broken · coloured: reset, by phase · the wheel zooms"));
    this.element.append(el("h2", {}, "Over time"), controls, this.plot as unknown as Node, el("h2", {}, "Now"), this.list);
  }

  update(snapshot: Snapshot): void {
    this.last = snapshot;
    if (this.element.hidden) return;
    this.draw();
    const focused = [...this.list.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    this.list.replaceChildren(...snapshot.units.map((unit) => this.unit(unit, snapshot)));
    if (focused >= 0) this.list.querySelectorAll("button")[focused]?.focus();
  }

  private whole(): number {
    const begins = this.last!.units.flatMap((unit) => [
      ...unit.cuts.map((cut) => cut[1] - cut[2]), ...unit.recoveries.map((each) => each.began),
    ]);
    return Math.max(10, this.last!.at - Math.min(this.last!.at - 10, ...begins));
  }

  private unit(unit: UnitNow, snapshot: Snapshot): HTMLElement {
    const failure = snapshot.failures.find((each) => each.unit === unit.name);
    const cut = unit.cuts.at(-1);
    const facts: [string, Child][] = [
      ["epochs", `${unit.completed_epoch} complete, ${unit.open_epoch} open`],
      ["cut", cut ? `epoch ${cut[0]}, ${seconds(snapshot.at - cut[1])} old, took ${seconds(cut[2])}` : "none yet"],
      ["period", unit.period ? seconds(unit.period) : null],
      ["resets", `${unit.resets}; ${unit.attempts} of ${unit.max_attempts} attempts since the last epoch`],
    ];
    const list = el("dl", {});
    for (const [name, value] of facts) if (value) list.append(el("dt", {}, name), el("dd", {}, value));
    const pes = el("p", {}, "PEs: ");
    for (const pe of unit.pes.slice(0, 20)) {
      const link = el("button", { type: "button", class: "link-button" }, `PE ${pe}`);
      link.addEventListener("click", () => this.openPe(pe));
      pes.append(link, " ");
    }
    const { reset } = this;
    const again = reset && !ENDED.includes(unit.state) && el("button", { type: "button", "data-reset": unit.name }, "Reset to the last cut");
    if (again) again.addEventListener("click", () => reset!(unit.name));
    return el("article", { class: `unit${failure ? " broken" : ""}` },
      el("h3", {}, unit.name, " ", el("span", { class: `chip ${chip(unit.state)}` }, unit.state)),
      failure && el("p", { class: "trouble" }, `${failure.reason.replace(/\.$/, "")}. ${failure.remedy}`),
      unit.unstable && el("p", { class: "trouble" }, unit.unstable),
      list, pes, again, recoveries(unit.recoveries));
  }

  private draw(): void {
    if (!this.last) return;
    const units = this.last.units.filter((unit) => unit.cuts.length || unit.recoveries.length || unit.region !== null);
    const width = Math.max(320, this.element.clientWidth - 40);
    const now = this.last.at;
    const span = this.span || this.whole();
    const left = width < 600 ? 74 : 120;
    const at = (time: number): number => left + (1 - (now - time) / span) * (width - left - 8);
    const inside = (time: number): number => Math.min(Math.max(at(time), left), width - 8);
    const row = 34;
    const height = 26 + row * Math.max(1, units.length);
    const parts: SVGElement[] = [];
    const step = [1, 2, 5, 10, 30, 60, 300, 900, 3600, 7200, 21600, 86400].find((each) => span / each <= width / 110) ?? 86400;
    for (let tick = Math.ceil((now - span) / step) * step; tick <= now; tick += step) {
      parts.push(svg("path", { class: "tick", d: `M${at(tick)} 20V${height}` }));
      parts.push(svg("text", { class: "time", x: at(tick), y: 13, "text-anchor": "middle" }, clock(tick)));
    }
    units.forEach((unit, number) => {
      const y = 24 + row * number;
      parts.push(svg("text", { class: "lane", x: 0, y: y + 18 }, unit.name));
      parts.push(svg("rect", { class: "works", x: left, y: y + 4, width: width - left - 8, height: 20, rx: 3 }));
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
    if (each.given_up) return "given up";
    if (each.ended) return seconds(each.ended - each.began);
    return each === all.at(-1) ? "under way" : "failed";
  };
  const rows = all.slice(-8).reverse().map((each) =>
    el("tr", {}, el("td", {}, clock(each.began)), el("td", {}, each.cause ?? "asked for"), el("td", {}, String(each.epoch)),
      el("td", {}, outcome(each)),
      el("td", {}, PHASES.filter((phase) => phase in each.phases).map((phase) => `${phase} ${seconds(each.phases[phase]!)}`).join(", "))));
  const head = el("tr", {}, ...["at", "cause", "back to epoch", "took", "phases"].map((text) => el("th", { scope: "col" }, text)));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Resets" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

export function chip(state: string): string {
  if (["PROCESSING", "RUNNING", "DRAINING", "COMPLETED", "STARTED"].includes(state)) return "good";
  return ["RESETTING", "STARTING", "STOPPED", "SUBMITTED"].includes(state) ? "waits" : "bad";
}
