// The drawing of a layout: shapes as SVG elements that can be focused, a view that pans and zooms, values that change.
// Where there is a lot to show, only what is in sight is there.

import { el, rate, seconds as duration, svg } from "./dom";
import { places, type Place } from "./labels";
import { label, type Layout, type Placed, type Wire } from "./layout";
import type { Item } from "./model";
import type { Snapshot } from "./types";

/** From so many shapes on, those out of sight are left out. */
const CULLED_FROM = 300;
const HEAT = [0.05, 0.25, 0.5, 0.75];
const LAG_HEAT = [1, 5, 20, 60];
const STATE_HEAT = [1e4, 1e6, 1e7, 1e8];

export type Heat = "none" | "processor" | "lag" | "state";

export interface Actions {
  select: (item: Item) => void;
  selectStream: (stream: string) => void;
  toggle: (item: Item) => void;
}

interface Shown {
  group: SVGElement;
  value: SVGElement;
}

export class GraphCanvas {
  readonly element: HTMLElement;
  private readonly picture: SVGElement;
  private readonly layer = svg("g");
  private layout: Layout | null = null;
  private shown = new Map<string, Shown>();
  private rates: { text: SVGElement; behind: SVGElement; path: SVGElement; wire: Wire }[] = [];
  private places = new Map<Wire, Place>();
  private scale = 1;
  private left = 0;
  private top = 0;
  private snapshot: Snapshot | null = null;
  private heat: Heat = "processor";
  private selected = "";
  private drawn = "";

  constructor(private readonly actions: Actions) {
    this.picture = svg("svg", { class: "graph", role: "group", "aria-label": "Operators and streams" }, this.layer);
    this.element = el("div", { class: "canvas" }, this.picture);
    this.listen();
  }

  show(layout: Layout): void {
    this.layout = layout;
    this.places = places(layout.wires);
    this.drawn = "";
    this.render();
  }

  fit(): void {
    const box = this.element.getBoundingClientRect();
    if (!this.layout || !box.width) return;
    const { width, height } = this.layout;
    this.scale = Math.min(1.1, Math.max(0.02, Math.min((box.width - 40) / width, (box.height - 40) / height)));
    this.left = (box.width - width * this.scale) / 2;
    this.top = Math.max(20, (box.height - height * this.scale) / 2);
    this.move();
  }

  zoom(factor: number, x?: number, y?: number): void {
    const box = this.element.getBoundingClientRect();
    const [cx, cy] = [x ?? box.width / 2, y ?? box.height / 2];
    const scale = Math.min(3, Math.max(0.02, this.scale * factor));
    this.left = cx - ((cx - this.left) * scale) / this.scale;
    this.top = cy - ((cy - this.top) * scale) / this.scale;
    this.scale = scale;
    this.move();
  }

  centre(id: string): void {
    const placed = this.layout?.placed.find((each) => each.item.id === id);
    const box = this.element.getBoundingClientRect();
    if (!placed) return;
    this.scale = Math.max(this.scale, 0.8);
    this.left = box.width / 2 - (placed.x + placed.width / 2) * this.scale;
    this.top = box.height / 2 - (placed.y + Math.min(placed.height, 200) / 2) * this.scale;
    this.move();
  }

  focus(id: string): void {
    (this.shown.get(id)?.group as SVGGElement | undefined)?.focus();
  }

  select(id: string): void {
    this.shown.get(this.selected)?.group.classList.remove("selected");
    this.selected = id;
    this.shown.get(id)?.group.classList.add("selected");
  }

  update(snapshot: Snapshot | null, heat: Heat): void {
    this.snapshot = snapshot;
    this.heat = heat;
    this.values();
  }

  private move(): void {
    this.layer.setAttribute("transform", `translate(${this.left} ${this.top}) scale(${this.scale})`);
    this.picture.classList.toggle("far", this.scale < 0.45);
    this.render();
  }

  private inSight(x: number, y: number, width: number, height: number): boolean {
    const box = this.element.getBoundingClientRect();
    const [x1, y1] = [x * this.scale + this.left, y * this.scale + this.top];
    return x1 < box.width * 1.5 && y1 < box.height * 1.5
      && x1 + width * this.scale > -box.width * 0.5 && y1 + height * this.scale > -box.height * 0.5;
  }

  private render(): void {
    if (!this.layout) return;
    const { placed, wires } = this.layout;
    const all = placed.length <= CULLED_FROM;
    const boxes = all ? placed : placed.filter((each) => this.inSight(each.x, each.y, each.width, each.height));
    const lines = all ? wires : wires.filter((each) => this.inSight(...frame(each)));
    const drawn = `${boxes.map((each) => each.item.id).join("|")}#${lines.length}`;
    if (drawn === this.drawn) return;
    const focused = document.activeElement?.getAttribute("data-id") ?? "";
    this.drawn = drawn;
    this.shown = new Map();
    this.rates = [];
    const parts: SVGElement[] = [];
    for (const each of boxes) if (each.open) parts.push(this.box(each));
    for (const each of lines) parts.push(this.wire(each));
    for (const each of boxes) if (!each.open) parts.push(this.leaf(each));
    this.layer.replaceChildren(...parts);
    this.select(this.selected);
    this.values();
    if (focused) this.focus(focused);
  }

  private box(each: Placed): SVGElement {
    const { item } = each;
    const fold = svg("g", { class: "fold", role: "button", tabindex: 0, "data-fold": item.id, "aria-expanded": "true" },
      svg("title", {}, `Fold ${item.box!.label}`),
      svg("rect", { x: each.width - 30, y: 6, width: 22, height: 22, rx: 5 }),
      svg("path", { d: `M${each.width - 25} 17h12`, class: "sign" }));
    const value = svg("text", { class: "value", x: each.width - 40, y: 22, "text-anchor": "end" });
    const title = svg("g", { class: "title", role: "button", tabindex: 0, "data-id": item.id },
      svg("rect", { class: "hit", x: 4, y: 4, width: Math.max(20, each.width - 40), height: 26, rx: 6 }),
      svg("text", { class: "name", x: 14, y: 22 }, item.box!.label), value);
    const group = svg("g", { class: `box ${item.box!.kind} ${tint(item.box!.region)}`, transform: `translate(${each.x} ${each.y})` },
      svg("rect", { class: "frame", width: each.width, height: each.height, rx: 10 }), title, fold);
    this.shown.set(item.id, { group: title, value });
    title.addEventListener("click", () => this.actions.select(item));
    fold.addEventListener("click", () => this.actions.toggle(item));
    return group;
  }

  private leaf(each: Placed): SVGElement {
    const { item, width, height } = each;
    const value = svg("text", { class: "value", x: 14, y: height - 9 });
    const parts = [
      svg("rect", { class: "frame", width, height, rx: item.box ? 10 : 7 }),
      svg("text", { class: "name", x: 14, y: 21 }, cut(label(item), width - (item.box ? 50 : 24))),
      svg("text", { class: "kind", x: 14, y: 37 },
        item.operator ? ` ${cut(item.operator.kind.split(":").pop()!, width - 24)}` : ` ${item.operators.length} operators`),
      value,
    ];
    const marks = item.operator?.marks ?? [];
    if (marks.length) parts.push(svg("circle", { class: "mark", cx: width - 12, cy: 12, r: 4 }, svg("title", {}, marks.join(", "))));
    const kind = item.operator ? "operator" : `box folded ${item.box!.kind}`;
    const region = item.operator?.region ?? item.box!.region;
    const leaf = svg("g", { class: `leaf ${kind} ${tint(region)}`, role: "button", tabindex: 0, "data-id": item.id }, ...parts);
    leaf.addEventListener("click", () => this.actions.select(item));
    this.shown.set(item.id, { group: leaf, value });
    const outer = svg("g", { transform: `translate(${each.x} ${each.y})` }, leaf);
    if (item.box) {
      const unfold = svg("g", { class: "fold", role: "button", tabindex: 0, "data-fold": item.id, "aria-expanded": "false" },
        svg("title", {}, `Unfold ${item.box.label}`),
        svg("rect", { x: width - 30, y: 7, width: 22, height: 22, rx: 5 }),
        svg("path", { d: `M${width - 25} 18h12m-6 -6v12`, class: "sign" }));
      unfold.addEventListener("click", () => this.actions.toggle(item));
      leaf.addEventListener("dblclick", () => this.actions.toggle(item));
      outer.append(unfold);
    }
    return outer;
  }

  private wire(wire: Wire): SVGElement {
    const edges = wire.link.edges;
    const passing = ["serialize", "copy", "enqueue", "reference"].find((how) => edges.some((each) => each.passing === how)) ?? "";
    const end = wire.points.at(-1)!;
    const start = wire.points[0]!;
    const path = svg("path", { class: `wire ${passing}`, d: rounded(wire.points, wire.last) });
    const tip = `${wire.link.source.operator?.name ?? wire.link.source.box!.label} → `
      + `${wire.link.target.operator?.name ?? wire.link.target.box!.label}: `
      + `${[...new Set(edges.map((each) => each.stream))].slice(0, 4).join(", ")}. ${words(passing)}${edges[0]!.reason}`;
    const group = svg("g", { class: "link" }, svg("title", {}, tip), path,
      svg("path", { class: "reach", d: rounded(wire.points, false) }));
    if (wire.last) {
      group.append(svg("path", { class: "head", d: `M${end.x - 8} ${end.y - 4}L${end.x} ${end.y}L${end.x - 8} ${end.y + 4}Z` }));
      if (edges.some((each) => each.queue)) {
        for (const bar of [0, 1, 2]) group.append(svg("rect", { class: "queue", x: end.x - 23 + 4.5 * bar, y: end.y - 6, width: 3.5, height: 12 }));
      }
      if (edges.some((each) => each.network)) group.append(svg("circle", { class: "network", cx: end.x - 14, cy: end.y, r: 5.5 }));
    }
    if (wire.first && edges.some((each) => each.split)) {
      group.append(svg("path", { class: "split", d: `M${start.x + 3} ${start.y}l5 -5l5 5l-5 5Z` }));
    }
    const place = this.places.get(wire);
    if (place) {
      const number = (y: number): SVGElement => svg("text", { class: "rate", x: place.x, y, "text-anchor": place.anchor });
      const [text, behind] = [number(place.y - 5), number(place.y + 12)];
      group.append(text, behind);
      this.rates.push({ text, behind, path, wire });
    }
    group.addEventListener("click", () => this.actions.selectStream(edges[0]!.stream));
    return group;
  }

  private values(): void {
    const now = this.snapshot;
    const lags = new Map<string, number>();
    const pressed = new Set<string>();
    for (const stream of now?.streams ?? []) {
      for (const reader of stream.readers) {
        const key = `${stream.name.split(">")[0]} ${reader.pe}`;
        lags.set(key, Math.max(lags.get(key) ?? 0, reader.seconds));
        if (reader.pressure >= 1) pressed.add(key);
      }
    }
    for (const { text, behind, path, wire } of this.rates) {
      const seen = new Set<string>();
      let sum: number | null = null;
      for (const edge of wire.link.edges) {
        // what a port submits is known, of one channel behind a splitter only what its one reader takes
        const key = edge.split ? `>${edge.target}` : `${edge.source}:${edge.port}`;
        const reader = this.isOnlyInput(edge.target) ? now?.operators[this.operatorName(edge.target)] : undefined;
        const value = edge.split ? reader?.rate : now?.operators[this.operatorName(edge.source)]?.out[edge.port];
        if (seen.has(key) || value === null || value === undefined) continue;
        seen.add(key);
        sum = (sum ?? 0) + value;
      }
      const keys = wire.link.edges.map((each) => `${each.stream} ${this.peOf(each.target)}`);
      const lag = Math.max(0, ...keys.map((each) => lags.get(each) ?? 0));
      text.textContent = sum === null ? "" : rate(sum);
      behind.textContent = lag >= 1 ? `${duration(lag)} late` : "";
      path.classList.toggle("pressed", keys.some((each) => pressed.has(each)));
      path.classList.toggle("busy", (sum ?? 0) > 0);
    }
    for (const [id, { group, value }] of this.shown) this.state(id, group, value);
  }

  operatorName: (index: number) => string = () => "";
  isOnlyInput: (index: number) => boolean = () => false;

  private state(id: string, group: SVGElement, value: SVGElement): void {
    const now = this.snapshot;
    const item = this.layout!.placed.find((each) => each.item.id === id)!.item;
    const names = item.operators.map(this.operatorName);
    let cores: number | null = null;
    let lag = 0;
    let size = 0;
    for (const name of names) {
      const each = now?.operators[name];
      if (!each) continue;
      if (each.cores !== null) cores = (cores ?? 0) + each.cores;
      lag = Math.max(lag, each.lag ?? 0);
      size += each.state;
    }
    const pes = new Set(item.box?.kind === "pe" ? [item.box.pe] : item.operators.map((each) => this.peOf(each)));
    const failed = now?.pes.some((pe) => pes.has(pe.id) && pe.trouble !== null) ?? false;
    const figure = { processor: cores ?? 0, lag, state: size, none: 0 }[this.heat];
    const steps = { processor: HEAT, lag: LAG_HEAT, state: STATE_HEAT, none: [] as number[] }[this.heat];
    const level = steps.filter((step) => figure >= step).length;
    for (let each = 1; each <= 4; each++) group.classList.toggle(`heat-${each}`, each === level);
    group.classList.toggle("failed", failed);
    group.parentElement?.classList.toggle("has-failed", failed);
    const parts = [failed ? "failed" : ""];
    const own = item.operator ? now?.operators[item.operator.name] : undefined;
    if (own?.rate !== null && own?.rate !== undefined) parts.push(rate(own.rate));
    if (cores !== null) parts.push(`${(cores * 100).toFixed(cores < 0.1 ? 1 : 0)} %`);
    const text = parts.filter(Boolean).join(" · ");
    if (value.textContent !== text) value.textContent = text && ` ${text}`;
  }

  peOf: (index: number) => number = () => -1;

  private listen(): void {
    let from: { x: number; y: number; left: number; top: number } | null = null;
    const pointers = new Map<number, { x: number; y: number }>();
    let spread = 0;
    this.element.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      spread = distance(pointers);
      from = { x: event.clientX, y: event.clientY, left: this.left, top: this.top };
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!from || !pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pointers.size === 2) {
        const now = distance(pointers);
        if (spread) this.zoom(now / spread);
        spread = now;
        return;
      }
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return;
      this.element.setPointerCapture(event.pointerId);
      this.left = from.left + event.clientX - from.x;
      this.top = from.top + event.clientY - from.y;
      this.move();
    });
    const end = (event: PointerEvent): void => {
      pointers.delete(event.pointerId);
      from = null;
    };
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
    this.element.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.element.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.picture.addEventListener("keydown", (event) => this.key(event as KeyboardEvent));
    new ResizeObserver(() => this.render()).observe(this.element);
  }

  private key(event: KeyboardEvent): void {
    const at = event.target as Element;
    const id = at.getAttribute("data-id") ?? at.getAttribute("data-fold") ?? "";
    const placed = this.layout?.placed.find((each) => each.item.id === id);
    if (!placed) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const folds = at.hasAttribute("data-fold") || (event.key === " " && placed.item.box);
      if (folds) this.actions.toggle(placed.item);
      else this.actions.select(placed.item);
      return;
    }
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = this.nearest(placed, way[0]!, way[1]!);
    if (!next) return;
    if (!this.inSight(next.x, next.y, next.width, next.height)) this.centre(next.item.id);
    this.focus(next.item.id);
  }

  private nearest(from: Placed, dx: number, dy: number): Placed | null {
    const [x, y] = [from.x + from.width / 2, from.y + (from.open ? 16 : from.height / 2)];
    let best: Placed | null = null;
    let least = Infinity;
    for (const each of this.layout!.placed) {
      if (each === from) continue;
      const [ox, oy] = [each.x + each.width / 2 - x, each.y + (each.open ? 16 : each.height / 2) - y];
      const along = ox * dx + oy * dy;
      const aside = Math.abs(ox * dy + oy * dx);
      if (along <= 1 || along + 2 * aside >= least) continue;
      least = along + 2 * aside;
      best = each;
    }
    return best;
  }
}

function tint(region: number): string {
  return region >= 0 ? `region-${region % 6}` : "autonomous";
}

function words(passing: string): string {
  const all: Record<string, string> = {
    reference: "By reference: ", copy: "Copied: ", enqueue: "Copied into a queue: ", serialize: "Over the transport: ",
  };
  return all[passing] ?? "";
}

function cut(text: string, width: number): string {
  const most = Math.floor(width / 7);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

function frame(wire: Wire): [number, number, number, number] {
  const xs = wire.points.map((point) => point.x);
  const ys = wire.points.map((point) => point.y);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return [x, y, Math.max(...xs) - x, Math.max(...ys) - y];
}

function rounded(points: { x: number; y: number }[], arrow: boolean): string {
  const way = points.map((point) => ({ ...point }));
  if (arrow) way.at(-1)!.x -= 6;
  let path = `M${way[0]!.x} ${way[0]!.y}`;
  for (let number = 1; number < way.length; number++) {
    const [before, at, after] = [way[number - 1]!, way[number]!, way[number + 1]];
    if (!after) {
      path += `L${at.x} ${at.y}`;
      continue;
    }
    const reach = Math.min(8, Math.hypot(at.x - before.x, at.y - before.y) / 2, Math.hypot(after.x - at.x, after.y - at.y) / 2);
    const toward = (to: { x: number; y: number }): string => {
      const length = Math.hypot(to.x - at.x, to.y - at.y) || 1;
      return `${at.x + ((to.x - at.x) / length) * reach} ${at.y + ((to.y - at.y) / length) * reach}`;
    };
    path += `L${toward(before)}Q${at.x} ${at.y} ${toward(after)}`;
  }
  return path;
}

function distance(pointers: Map<number, { x: number; y: number }>): number {
  const [a, b] = [...pointers.values()];
  return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
}
