// A graph with its controls: fold, unfold, zoom and a legend. Both pages show graphs by it.

import { GraphCanvas, type Heat } from "./canvas";
import { button, el, type Child } from "./dom";
import { Layouter } from "./layout";
import { legend } from "./legend";
import { Model, type Item } from "./model";
import type { Graph, Snapshot } from "./types";

/** The least number of shapes of a graph that is folded until it can be read. */
const LEAST_SHOWN = 4;
/** The shape of a page that shows graphs from top to bottom. */
const TALL = "(max-width: 760px), (max-aspect-ratio: 1/1)";

export class GraphView {
  readonly element = el("section", { class: "graph-view", "aria-label": "Graph" });
  readonly canvas: GraphCanvas;
  model: Model | null = null;
  private open = new Set<string>();
  private drawing = 0;
  private readonly layouter: Layouter;
  private readonly tall = matchMedia(TALL);
  private readonly fold = button("Fold all", () => void this.foldAll(), { id: "fold-all" });
  private readonly unfold = button("Unfold", () => void this.unfoldMore(), { id: "unfold" });
  private readonly signs = el("ul", {});

  /**
   * @param chosen handles a click on a shape or a stream.
   * @param controls are shown above the graph.
   */
  constructor(worker: () => Worker, chosen: { item: (item: Item) => void; stream: (stream: string) => void }, ...controls: Child[]) {
    this.layouter = new Layouter(worker, this.tall.matches ? "DOWN" : "RIGHT");
    this.canvas = new GraphCanvas({ select: chosen.item, selectStream: chosen.stream, toggle: (item) => void this.toggle(item) });
    const zoom = el("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("+", () => this.canvas.zoom(1.3), { "aria-label": "Zoom in" }),
      button("−", () => this.canvas.zoom(1 / 1.3), { "aria-label": "Zoom out" }),
      button("Fit", () => this.canvas.fit(), { id: "fit-graph", title: "Show all of the graph" }),
      this.fold, this.unfold);
    const bar = el("div", { class: "bar" }, zoom, el("details", { class: "legend" }, el("summary", {}, "Legend"), this.signs));
    this.element.append(...(controls.length ? [el("div", { class: "tools" }, ...controls)] : []), this.canvas.element, bar);
    this.tall.addEventListener("change", () => void this.turn());
  }

  /** Shows a graph, unfolded as far as the whole can be read. */
  async show(graph: Graph, live: boolean): Promise<void> {
    const model = new Model(graph);
    this.model = model;
    const { operators } = graph;
    const inputs = operators.map(() => 0);
    for (const edge of graph.edges) inputs[edge.target]! += 1;
    this.canvas.operatorName = (index) => operators[index]?.name ?? "";
    this.canvas.isOnlyInput = (index) => inputs[index] === 1;
    this.canvas.peOf = (index) => operators[index]?.pe ?? -1;
    this.signs.replaceChildren(...legend(graph, live));
    this.fold.hidden = this.unfold.hidden = !graph.boxes.length;
    this.open = await this.readable(model);
    await this.draw();
    this.canvas.open();
  }

  private async readable(model: Model): Promise<Set<string>> {
    let open = model.openAtFirst();
    while (open.size && !this.canvas.readable(await this.layouter.layout(model, open))) {
      const folded = model.withoutInnermost(open);
      if (model.shown(folded) < LEAST_SHOWN) break;
      open = folded;
    }
    return open;
  }

  private async draw(): Promise<void> {
    const number = ++this.drawing;
    const layout = await this.layouter.layout(this.model!, this.open);
    if (number !== this.drawing) return;
    this.canvas.show(layout);
    this.fold.disabled = !this.open.size;
    this.unfold.disabled = this.open.size === this.model!.graph.boxes.length;
    document.body.dataset.drawn = String(layout.placed.length);
  }

  /** Draws the graph in the direction of the page's new shape. */
  private async turn(): Promise<void> {
    this.layouter.direction = this.tall.matches ? "DOWN" : "RIGHT";
    if (!this.model) return;
    await this.draw();
    this.canvas.open();
  }

  update(snapshot: Snapshot | null, heat: Heat): void {
    this.canvas.update(snapshot, heat);
  }

  /** Selects a stream; selects nothing for an empty name. */
  selectStream(stream: string): void {
    const edge = stream ? this.model?.graph.edges.find((each) => each.stream === stream) : undefined;
    this.canvas.selectStream(stream, edge && this.model!.visible(this.model!.itemOf(edge.source), this.open).id);
  }

  /** Selects an item, and unfolds the boxes that hide it; selects nothing without an item. */
  async select(item: Item | undefined): Promise<void> {
    if (item && this.model!.visible(item, this.open) !== item) await this.reveal(item);
    else this.canvas.select(item?.id ?? "");
  }

  async reveal(item: Item): Promise<void> {
    for (let around = item.parent; around?.box; around = around.parent) this.open.add(around.id);
    await this.draw();
    this.canvas.centre(item.id);
    this.canvas.select(item.id);
  }

  async toggle(item: Item): Promise<void> {
    if (this.open.has(item.id)) this.open.delete(item.id);
    else this.open.add(item.id);
    await this.draw();
    this.canvas.keep(item.id);
    this.canvas.focus(item.id);
  }

  private async foldAll(): Promise<void> {
    this.open = new Set();
    await this.draw();
    this.canvas.fit();
  }

  private async unfoldMore(): Promise<void> {
    this.open = this.model!.openAtFirst(Math.max(200, Number(document.body.dataset.drawn) * 4));
    await this.draw();
    this.canvas.fit();
  }
}
