// The page: chooses an application, shows its graph and its regions, and keeps both as they are now.

import "uplot/dist/uPlot.min.css";
import "./console.css";
import { GraphCanvas, type Heat } from "./canvas";
import { button, el, type Child } from "./dom";
import { Layouter } from "./layout";
import { Model, type Item } from "./model";
import { Panel } from "./panel";
import { chip, Regions } from "./regions";
import { RefusedError, ServerSource, sourceOfPage, type Source } from "./source";
import type { Snapshot, SubjectKind, View } from "./types";

class Page {
  private application = "";
  private view: View = "physical";
  private model: Model | null = null;
  private open = new Set<string>();
  private snapshot: Snapshot | null = null;
  private fingerprint = "";
  private heat: Heat = "processor";
  private subject: { kind: SubjectKind; name: string } | null = null;
  private shownAt = 0;
  private saidUntil = 0;
  private drawing = 0;
  private stop: () => void = () => undefined;

  private readonly layouter: Layouter;
  private readonly canvas: GraphCanvas;
  private readonly panel: Panel;
  private readonly regions = new Regions((pe) => void this.choose("pe", String(pe)));
  private readonly banner = el("div", { class: "banner", role: "alert", hidden: "" });
  private readonly status = el("span", { class: "chip", id: "state" });
  private readonly note = el("p", { class: "note", role: "status" });
  private readonly picker = el("select", { "aria-label": "Application", id: "application" }) as HTMLSelectElement;
  private readonly views = el("select", { "aria-label": "View of the graph", id: "view" }) as HTMLSelectElement;
  private readonly heats = el("select", { "aria-label": "What colours show", id: "heat" }) as HTMLSelectElement;
  private readonly search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search operators, streams, PEs", id: "search", autocomplete: "off" }) as HTMLInputElement;
  private readonly hits = el("ul", { class: "hits", hidden: "" });
  private readonly graphTab = button("Graph", () => this.tab("graph"), { id: "tab-graph", "aria-pressed": "true" });
  private readonly regionTab = button("Regions", () => this.tab("regions"), { id: "tab-regions", "aria-pressed": "false" });
  private readonly planLink = el("a", { class: "page", href: "/compile" }, "Plans");
  private readonly graph = el("section", { class: "graph-view", "aria-label": "Graph" });

  constructor(private readonly source: Source) {
    this.layouter = new Layouter(() => source.worker());
    this.canvas = new GraphCanvas({
      select: (item) => void this.chooseItem(item),
      selectStream: (stream) => void this.choose("stream", stream),
      toggle: (item) => void this.toggle(item),
    });
    this.panel = new Panel(source, (kind, name) => void this.choose(kind, name), () => {
      this.subject = null;
      this.canvas.select("");
    });
    this.build();
  }

  private build(): void {
    for (const [value, text] of [["physical", "physical"], ["logical", "logical"]]) this.views.append(el("option", { value: value! }, text!));
    for (const [value, text] of [["processor", "processor time"], ["lag", "lag"], ["state", "state size"], ["none", "regions only"]]) {
      this.heats.append(el("option", { value: value! }, text!));
    }
    this.views.addEventListener("change", () => void this.showView(this.views.value as View));
    this.heats.addEventListener("change", () => {
      this.heat = this.heats.value as Heat;
      this.canvas.update(this.snapshot, this.heat);
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
        this.search.focus();
      }
      if (event.key === "Escape") {
        this.hits.hidden = true;
        if (!this.panel.element.hidden) this.panel.hide();
      }
    });
    const live: Child[] = this.source.live ? [this.heats, el("nav", { "aria-label": "Pages" }, this.graphTab, this.regionTab, this.planLink)] : [];
    const header = el("header", {}, el("h1", {}, "Streams"), this.picker, this.status, ...live, this.views,
      el("div", { class: "search" }, this.search, this.hits));
    const zoom = el("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("+", () => this.canvas.zoom(1.3), { "aria-label": "Zoom in" }),
      button("−", () => this.canvas.zoom(1 / 1.3), { "aria-label": "Zoom out" }),
      button("fit", () => this.canvas.fit()),
      button("fold all", () => void this.foldAll()),
      button("unfold", () => void this.unfoldMore()));
    const legend = el("details", { class: "legend" }, el("summary", {}, "Signs"), el("ul", {},
      el("li", {}, el("i", { class: "sign-queue" }), "queue in front of a port"),
      el("li", {}, el("i", { class: "sign-split" }), "splitter behind a port"),
      el("li", {}, el("i", { class: "sign-network" }), "Network operators"),
      el("li", {}, el("i", { class: "sign-copy" }), "copied"),
      el("li", {}, el("i", { class: "sign-serialize" }), "over the transport"),
      el("li", {}, el("i", { class: "sign-heat" }), "works much, is behind, or holds much")));
    this.graph.append(this.canvas.element, zoom, legend);
    this.regions.element.hidden = true;
    const main = el("main", {}, this.graph, this.regions.element, this.panel.element);
    document.getElementById("console")!.append(header, this.banner, this.note, main);
  }

  async start(): Promise<void> {
    if (this.source instanceof ServerSource) await this.source.begin();
    if (this.source.mayAct) this.regions.reset = (unit) => void this.reset(unit);
    const listed = await this.source.applications();
    if (!listed.length) {
      this.note.textContent = "Nothing is deployed here. `streams deploy SPEC` starts an application.";
      return;
    }
    for (const each of listed) this.picker.append(el("option", { value: each.name }, each.failed.length ? `${each.name} (failed)` : each.name));
    const asked = new URLSearchParams(location.search);
    const wanted = asked.get("application");
    await this.show(listed.find((each) => each.name === wanted)?.name ?? listed[0]!.name);
    for (const kind of ["operator", "stream", "pe", "region"] as const) {
      const name = asked.get(kind);
      if (name) await this.choose(kind, name);
    }
  }

  private async reset(unit: string): Promise<void> {
    const question = `Reset ${unit} of ${this.application}? What is not in its last cut is taken back and done again.`;
    if (!window.confirm(question)) return;
    try {
      await this.source.reset(this.application, unit);
      this.say(`${unit} goes back to its last complete epoch.`);
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  /** Stays for a while, whatever arrives. */
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
    await this.showView(this.view);
    this.stop = this.source.listen(application, (snapshot) => this.receive(snapshot), (message) => {
      this.note.textContent = message;
    });
  }

  private async showView(view: View): Promise<void> {
    this.view = view;
    this.views.value = view;
    this.model = new Model(await this.source.graph(this.application, view));
    const { operators } = this.model.graph;
    this.canvas.operatorName = (index) => operators[index]?.name ?? "";
    const inputs = operators.map(() => 0);
    for (const edge of this.model.graph.edges) inputs[edge.target]! += 1;
    this.canvas.isOnlyInput = (index) => inputs[index] === 1;
    this.canvas.peOf = (index) => operators[index]?.pe ?? -1;
    this.open = this.model.openAtFirst();
    await this.draw();
    this.canvas.fit();
    const selected = this.subject?.kind === "operator" ? this.otherView(this.subject.name) : undefined;
    if (selected) await this.reveal(selected);
  }

  /** An operator of the other view is the first replica, or the logical operator, of one here. */
  private otherView(name: string): Item | undefined {
    const own = this.model!.items.get(`op:${name}`);
    if (own) return own;
    const found = this.model!.graph.operators.findIndex((each) => each.logical === name || name.replace(/\[\d+\]/g, "") === each.name);
    return found < 0 ? undefined : this.model!.itemOf(found);
  }

  private async draw(): Promise<void> {
    const number = ++this.drawing;
    const layout = await this.layouter.layout(this.model!, this.open);
    if (number !== this.drawing) return;
    this.canvas.show(layout);
    this.canvas.update(this.snapshot, this.heat);
    document.body.dataset.drawn = String(layout.placed.length);
  }

  private receive(snapshot: Snapshot): void {
    const changed = this.fingerprint !== "" && this.fingerprint !== `${snapshot.fingerprint} ${snapshot.deployed_at}`;
    this.fingerprint = `${snapshot.fingerprint} ${snapshot.deployed_at}`;
    this.snapshot = snapshot;
    if (performance.now() > this.saidUntil) this.note.textContent = snapshot.measured ? "" : "Measuring was off when it was deployed (STREAMS_METRICS=off).";
    this.status.textContent = snapshot.failures.length ? "FAILED" : snapshot.state;
    this.status.className = `chip ${snapshot.failures.length ? "bad" : chip(snapshot.state)}`;
    this.warn(snapshot);
    this.regions.update(snapshot);
    this.canvas.update(snapshot, this.heat);
    if (changed) void this.showView(this.view);
    if (this.subject && performance.now() - this.shownAt > 5000 && !this.panel.element.contains(document.activeElement)) void this.refresh();
  }

  /** What cannot be overlooked: units that are reset again and again, and failures that nothing mends by itself. */
  private warn(snapshot: Snapshot): void {
    const lines: Child[] = [];
    for (const unit of snapshot.units) {
      if (unit.unstable) lines.push(this.warning(`Crash loop: ${unit.name} was ${unit.unstable}`, unit.name));
    }
    for (const each of snapshot.failures) {
      const loop = snapshot.units.find((unit) => unit.name === each.unit)?.unstable;
      if (!loop || each.hopeless) lines.push(this.warning(`${each.unit}: ${each.reason.replace(/\.$/, "")}. ${each.remedy}`, each.unit));
    }
    const text = lines.map((line) => (line as Node).textContent).join("\n");
    if (this.banner.dataset.text !== text) {
      this.banner.dataset.text = text;
      this.banner.replaceChildren(...(lines as Node[]));
    }
    this.banner.hidden = !lines.length;
  }

  private warning(text: string, unit: string): HTMLElement {
    const failed = this.snapshot!.pes.find((pe) => pe.unit === unit && pe.trouble !== null);
    const show = failed && button(`Show PE ${failed.id}`, () => void this.choose("pe", String(failed.id)));
    return el("p", {}, text, " ", show);
  }

  private tab(name: "graph" | "regions"): void {
    this.graph.hidden = name !== "graph";
    this.regions.element.hidden = name !== "regions";
    this.graphTab.setAttribute("aria-pressed", String(name === "graph"));
    this.regionTab.setAttribute("aria-pressed", String(name === "regions"));
    if (this.snapshot) this.regions.update(this.snapshot);
  }

  private chooseItem(item: Item): Promise<void> {
    if (item.operator) return this.choose("operator", item.operator.name);
    if (item.box!.kind === "pe") return this.choose("pe", String(item.box!.pe));
    return this.toggle(item);
  }

  private async choose(kind: SubjectKind, name: string): Promise<void> {
    this.subject = { kind, name };
    if (this.graph.hidden) this.tab("graph");
    if (kind === "pe" && this.view === "logical") await this.showView("physical");
    const item = kind === "operator" ? this.model?.items.get(`op:${name}`) : kind === "pe" ? this.model?.items.get(`pe:${name}`) : undefined;
    if (item && this.model!.visible(item, this.open) !== item) await this.reveal(item);
    else this.canvas.select(item?.id ?? "");
    await this.refresh();
  }

  private refresh(): Promise<void> {
    const { kind, name } = this.subject!;
    this.shownAt = performance.now();
    const unit = kind === "pe"
      ? this.snapshot?.units.find((each) => each.pes.includes(Number(name)))
      : this.snapshot?.units.find((each) => kind === "region" && each.region === Number(name));
    const trouble = kind === "pe" ? this.snapshot?.pes.find((each) => each.id === Number(name))?.trouble : null;
    return this.panel.show(this.application, kind, name, unit, trouble ?? null);
  }

  private async reveal(item: Item): Promise<void> {
    for (let around = item.parent; around?.box; around = around.parent) this.open.add(around.id);
    await this.draw();
    this.canvas.centre(item.id);
    this.canvas.select(item.id);
  }

  private async toggle(item: Item): Promise<void> {
    if (this.open.has(item.id)) this.open.delete(item.id);
    else this.open.add(item.id);
    await this.draw();
    this.canvas.focus(item.id);
  }

  private async foldAll(): Promise<void> {
    this.open = new Set();
    await this.draw();
    this.canvas.fit();
  }

  private async unfoldMore(): Promise<void> {
    this.open = this.model!.openAtFirst(Math.max(200, (document.body.dataset.drawn ? Number(document.body.dataset.drawn) : 0) * 4));
    await this.draw();
    this.canvas.fit();
  }

  private find(): void {
    const hits = this.model?.search(this.search.value) ?? [];
    this.hits.replaceChildren(...hits.map(({ label, what, item, stream }) =>
      el("li", {}, button(`${label} `, () => {
        this.hits.hidden = true;
        void this.reveal(item).then(() => (stream ? this.choose("stream", stream) : item.box && item.box.kind !== "pe" ? undefined : this.chooseItem(item)));
      }, { "data-what": what }))));
    this.hits.hidden = !hits.length;
    if (this.search.value && !hits.length) {
      this.hits.hidden = false;
      this.hits.replaceChildren(el("li", {}, "Nothing of that name."));
    }
  }
}

const page = new Page(sourceOfPage());
page.start().catch((error: Error) => {
  const text = error instanceof RefusedError ? error.message : `The console cannot be read: ${error.message}`;
  document.querySelector(".note")!.textContent = text;
});
