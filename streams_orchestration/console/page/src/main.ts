// The page: chooses an application, and shows its graph and its regions with live values.

import "uplot/dist/uPlot.min.css";
import "./console.css";
import type { Heat } from "./canvas";
import { button, choice, clock, el, folded, labelled, prose, type Child } from "./dom";
import type { Hit, Item } from "./model";
import { known, Panel } from "./panel";
import { chip, Regions } from "./regions";
import { RefusedError, ServerSource, sourceOfPage, type Source } from "./source";
import type { Snapshot, SubjectKind, View } from "./types";
import { GraphView } from "./view";

class Page {
  private application = "";
  private view: View = "physical";
  private snapshot: Snapshot | null = null;
  private fingerprint = "";
  private heat: Heat = "processor";
  private subject: { kind: SubjectKind; name: string } | null = null;
  private shownAt = 0;
  private saidUntil = 0;
  private stop: () => void = () => undefined;

  private readonly graph: GraphView;
  private readonly panel: Panel;
  private readonly regions = new Regions((kind, name) => void this.choose(kind, name));
  private readonly banner = el("div", { class: "banner", role: "alert", hidden: "" });
  private readonly status = el("span", { class: "chip", id: "state" });
  private readonly note = el("p", { class: "note", role: "status" });
  private readonly applications = el("span", { class: "applications" });
  private readonly picker = choice("application", []);
  private readonly views = choice("view", [["physical", "physical"], ["logical", "logical"]]);
  private readonly heats = choice("heat", [["processor", "processor time"], ["lag", "lag"], ["state", "state size"], ["none", "regions only"]]);
  private readonly search = el("input", { type: "search", placeholder: "any name (key /)", id: "search", autocomplete: "off" }) as HTMLInputElement;
  private readonly hits = el("ul", { class: "hits", hidden: "" });
  private readonly graphTab = button("Graph", () => this.tab("graph"), { id: "tab-graph", "aria-pressed": "true" });
  private readonly regionTab = button("Regions", () => this.tab("regions"), { id: "tab-regions", "aria-pressed": "false" });
  private readonly planLink = el("a", { class: "page", href: "/compile" }, "Plans");
  private readonly main = el("main");

  constructor(private readonly source: Source) {
    this.graph = new GraphView(
      () => source.worker(), { item: (item) => void this.chooseItem(item), stream: (stream) => void this.choose("stream", stream) },
      source.live && labelled("Colour", this.heats), labelled("View", this.views),
      el("div", { class: "search" }, labelled("Search", this.search), this.hits));
    this.panel = new Panel(source, (kind, name) => void this.choose(kind, name), () => {
      this.subject = null;
      void this.graph.select(undefined);
      this.graph.selectStream("");
      this.graph.canvas.selectRegion(-1);
      this.address();
    });
    this.build();
  }

  private build(): void {
    this.views.addEventListener("change", () => void this.showView(this.views.value as View));
    this.heats.addEventListener("change", () => {
      this.heat = this.heats.value as Heat;
      this.graph.update(this.snapshot, this.heat);
    });
    this.picker.addEventListener("change", () => void this.show(this.picker.value));
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") (this.hits.querySelector("button") as HTMLButtonElement | null)?.click();
      if (event.key === "ArrowDown") (this.hits.querySelector("button") as HTMLButtonElement | null)?.focus();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        this.tab("graph");
        this.search.focus();
      }
      if (event.key === "Escape") {
        this.hits.hidden = true;
        if (!this.panel.element.hidden) this.panel.hide();
      }
    });
    const pages: Child = this.source.live && el("nav", { "aria-label": "Pages" }, this.graphTab, this.regionTab, this.planLink);
    const header = el("header", {}, el("h1", {}, "Streams"), this.applications, this.status, pages);
    this.regions.element.hidden = true;
    this.main.append(this.graph.element, this.regions.element, this.panel.element);
    document.getElementById("console")!.append(header, this.banner, this.note, this.main);
  }

  async start(): Promise<void> {
    if (this.source instanceof ServerSource) await this.source.begin();
    if (this.source.mayAct) this.regions.reset = (unit) => void this.reset(unit);
    const listed = await this.source.applications();
    if (!listed.length) {
      this.note.replaceChildren(...(prose("Nothing is deployed here. `streams run SPEC` deploys an application and starts it.") as Node[]));
      this.main.hidden = this.graphTab.hidden = this.regionTab.hidden = true;
      return;
    }
    for (const each of listed) this.picker.append(el("option", { value: each.name }, title(each.name, each.failed.length)));
    this.applications.append(listed.length > 1 ? labelled("Application", this.picker) : listed[0]!.name);
    const asked = new URLSearchParams(location.search);
    const wanted = asked.get("application");
    await this.show(listed.find((each) => each.name === wanted)?.name ?? listed[0]!.name);
    for (const kind of ["operator", "stream", "pe", "region"] as const) {
      const name = asked.get(kind);
      if (name) await this.choose(kind, name);
    }
  }

  private async reset(unit: string): Promise<void> {
    const question = `Reset ${unit} of ${this.application}? Everything after its last cut is rolled back and processed again.`;
    if (!window.confirm(question)) return;
    try {
      await this.source.reset(this.application, unit);
      this.say(`${unit} goes back to its last complete epoch.`);
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  /** Shows a message for ten seconds, also if other messages arrive. */
  private say(text: string): void {
    this.note.textContent = text;
    this.saidUntil = performance.now() + 10_000;
  }

  private async show(application: string): Promise<void> {
    this.stop();
    this.application = application;
    this.picker.value = application;
    this.snapshot = null;
    this.fingerprint = "";
    if (!this.panel.element.hidden) this.panel.hide();
    document.title = `${application} · Streams console`;
    this.planLink.setAttribute("href", `/compile?application=${encodeURIComponent(application)}`);
    this.address();
    await this.showView(this.view);
    this.stop = this.source.listen(application, (snapshot) => this.receive(snapshot), (message) => this.old(message));
  }

  /** Puts the shown application and subject into the address, for a reload and for links from other pages. */
  private address(): void {
    if (!this.source.live) return;
    const shown = new URLSearchParams({ application: this.application, ...(this.subject && { [this.subject.kind]: this.subject.name }) });
    history.replaceState(null, "", `?${shown}`);
  }

  /** Shows that the values are not live, and since when. */
  private old(message: string): void {
    const at = this.snapshot && clock(this.snapshot.at);
    this.saidUntil = 0;
    this.main.classList.add("old");
    this.note.classList.add("old");
    this.note.textContent = message + (at ? ` Not live: all values are from ${at}.` : "");
    if (at) this.status.textContent = `${stateOf(this.snapshot!)} at ${at}`;
    this.status.className = "chip waits";
  }

  private async showView(view: View): Promise<void> {
    this.view = view;
    this.views.value = view;
    await this.graph.show(await this.source.graph(this.application, view), this.source.live);
    this.graph.update(this.snapshot, this.heat);
    const selected = this.subject?.kind === "operator" ? this.otherView(this.subject.name) : undefined;
    if (selected) await this.graph.reveal(selected);
  }

  /** Returns the operator of this view for a name in the other view: the first replica, or the logical operator. */
  private otherView(name: string): Item | undefined {
    const model = this.graph.model!;
    const own = model.items.get(`op:${name}`);
    if (own) return own;
    const found = model.graph.operators.findIndex((each) => each.logical === name || name.replace(/\[\d+\]/g, "") === each.name);
    return found < 0 ? undefined : model.itemOf(found);
  }

  private receive(snapshot: Snapshot): void {
    const first = !this.snapshot;
    const changed = this.fingerprint !== "" && this.fingerprint !== `${snapshot.fingerprint} ${snapshot.deployed_at}`;
    this.fingerprint = `${snapshot.fingerprint} ${snapshot.deployed_at}`;
    this.snapshot = snapshot;
    this.main.classList.remove("old");
    this.note.classList.remove("old");
    if (performance.now() > this.saidUntil) this.note.textContent = snapshot.measured ? "" : "There are no rates: this application was deployed with STREAMS_METRICS=off.";
    this.status.textContent = stateOf(snapshot);
    this.status.className = `chip ${snapshot.failures.length ? "bad" : chip(snapshot.state)}`;
    this.picker.selectedOptions[0]!.textContent = title(snapshot.application, snapshot.failures.length);
    this.warn(snapshot);
    this.regions.update(snapshot);
    this.graph.update(snapshot, this.heat);
    if (changed) void this.showView(this.view);
    if (this.subject && (first || performance.now() - this.shownAt > 5000) && !this.panel.element.contains(document.activeElement)) void this.refresh();
  }

  /** Shows warnings in the banner: units that are reset again and again, and failures that need the user. */
  private warn(snapshot: Snapshot): void {
    const lines: Child[] = [];
    for (const unit of snapshot.units) {
      const failure = snapshot.failures.find((each) => each.unit === unit.name);
      if (unit.unstable) lines.push(this.warning(`Not stable: ${unit.name} was ${unit.unstable}`, failure ? next(failure, snapshot.at) : "", unit.name));
    }
    for (const each of snapshot.failures) {
      const loop = snapshot.units.find((unit) => unit.name === each.unit)?.unstable;
      if (!loop || each.hopeless) lines.push(this.warning(`${each.unit}: ${each.reason.replace(/\.$/, "")}.`, next(each, snapshot.at), each.unit));
    }
    const text = lines.map((line) => (line as Node).textContent).join("\n");
    if (this.banner.dataset.text !== text) {
      this.banner.dataset.text = text;
      this.banner.replaceChildren(...(lines as Node[]));
    }
    this.banner.hidden = !lines.length;
  }

  /** Returns a warning that shows the beginning of a long cause; opening it shows the rest and the remedy. */
  private warning(text: string, remedy: string, unit: string): HTMLElement {
    const failed = this.snapshot!.pes.find((pe) => pe.unit === unit && pe.trouble !== null);
    const show = failed && button(`Show PE ${failed.id}`, () => void this.choose("pe", String(failed.id)));
    return el("div", { class: "warning" }, folded(`warning ${unit}`, text, remedy && el("p", {}, ...prose(remedy))), show);
  }

  private tab(name: "graph" | "regions"): void {
    this.graph.element.hidden = name !== "graph";
    this.regions.element.hidden = name !== "regions";
    this.graphTab.setAttribute("aria-pressed", String(name === "graph"));
    this.regionTab.setAttribute("aria-pressed", String(name === "regions"));
    if (this.snapshot) this.regions.update(this.snapshot);
  }

  private chooseItem(item: Item): Promise<void> {
    if (item.operator) return this.choose("operator", item.operator.name);
    if (item.box!.kind === "pe") return this.choose("pe", String(item.box!.pe));
    return this.graph.toggle(item);
  }

  private async choose(kind: SubjectKind, name: string): Promise<void> {
    this.subject = { kind, name };
    this.address();
    if (this.graph.element.hidden && kind !== "region") this.tab("graph");
    if (kind === "pe" && this.view === "logical") await this.showView("physical");
    const ids: Partial<Record<SubjectKind, string>> = { operator: `op:${name}`, pe: `pe:${name}` };
    await this.graph.select(this.graph.model?.items.get(ids[kind] ?? ""));
    this.graph.selectStream(kind === "stream" ? name : "");
    this.graph.canvas.selectRegion(kind === "region" ? Number(name) : -1);
    await this.refresh();
  }

  private refresh(): Promise<void> {
    const { kind, name } = this.subject!;
    this.shownAt = performance.now();
    const unit = kind === "pe"
      ? this.snapshot?.units.find((each) => each.pes.includes(Number(name)))
      : this.snapshot?.units.find((each) => kind === "region" && each.region === Number(name));
    const trouble = kind === "pe" ? this.snapshot?.pes.find((each) => each.id === Number(name))?.trouble : null;
    const item = this.graph.model?.items.get(kind === "pe" ? `pe:${name}` : `op:${name}`);
    return this.panel.show(this.application, kind, name, { unit, trouble: trouble ?? null, ...(item && (kind === "operator" || kind === "pe") && known(item)) });
  }

  private find(): void {
    const hits = this.graph.model?.search(this.search.value) ?? [];
    this.hits.replaceChildren(...hits.map((hit) => el("li", {}, button(`${hit.label} `, () => void this.take(hit), { "data-what": hit.what }))));
    this.hits.hidden = !hits.length;
    if (this.search.value && !hits.length) {
      this.hits.hidden = false;
      this.hits.replaceChildren(el("li", {}, "No operator, stream, PE or region has this name."));
    }
  }

  /** Opens the operator, stream, PE or region that the user has chosen among the hits of a search. */
  private async take({ item, stream, region }: Hit): Promise<void> {
    this.hits.hidden = true;
    if (!item) return this.choose("region", String(region));
    await this.graph.reveal(item);
    if (stream) return this.choose("stream", stream);
    if (item.operator || item.box!.kind === "pe") return this.chooseItem(item);
  }
}

/** Returns the remedy of a failure, and the time of the next reset if one is due. */
function next({ remedy, due_at }: Snapshot["failures"][number], now: number): string {
  return due_at > now ? `The next reset is due at ${clock(due_at)}. ${remedy}` : remedy;
}

function stateOf(snapshot: Snapshot): string {
  return snapshot.failures.length ? "FAILED" : snapshot.state;
}

function title(application: string, failures: number): string {
  return failures ? `${application} (failed)` : application;
}

const page = new Page(sourceOfPage());
page.start().catch((error: Error) => {
  const text = error instanceof RefusedError ? error.message : `The console cannot be read: ${error.message}`;
  document.querySelector(".note")!.textContent = text;
});
