// The drawing of a layout: SVG elements that take the focus, a view that pans and zooms, and values that change.
// Only shapes in sight have elements. If there are too many of them, a canvas shows the graph from far away, and only its
// largest shapes have elements.

import { el, rate, seconds, svg } from "./dom";
import { FarPicture } from "./far";
import { Figures, type Heat, type Names } from "./figures";
import { places, type Place } from "./labels";
import { READABLE, type Layout, type Placed, type Wire } from "./layout";
import type { Item } from "./model";
import { boxShape, leafShape, put, wireShape, type Actions, type Shape, type WireShape } from "./shapes";
import type { Snapshot } from "./types";

export type { Heat } from "./figures";

/** The most shapes in sight that are drawn as elements; more shapes are drawn on the canvas. */
const NEAR = 300;
/** The most shapes that have elements over the canvas, for the focus, titles and screen readers. */
const REACHED = 120;
/** The pixels between the picture and the edge of the view. */
const EDGE = 20;
/** The scale at which a single operator, or the beginning of a large graph, is shown. */
const CLOSE = 0.9;
/** The largest scale of a graph that fits into the view. */
const LARGEST = 1.1;

export class GraphCanvas implements Names {
  readonly element: HTMLElement;
  operatorName: (index: number) => string = () => "";
  isOnlyInput: (index: number) => boolean = () => false;
  peOf: (index: number) => number = () => -1;

  private readonly picture: SVGElement;
  private readonly layer = svg("g");
  private readonly far = new FarPicture();
  private layout: Layout | null = null;
  private placed = new Map<string, Placed>();
  private largest: Placed[] = [];
  private places: Map<Wire, Place> | null = null;
  private shapes = new Map<Placed, Shape>();
  private wires = new Map<Wire, WireShape>();
  private figures = new Figures(null, "none", this);
  private scale = 1;
  private left = 0;
  private top = 0;
  private selected = "";
  private stream = "";
  /** The consistent region whose operators are marked; -1 for none. */
  private region = -1;
  /** The id of the shape that stays in the view: the selected one, or the producer of the selected stream. */
  private kept = "";
  private written = 0;
  private moved = false;
  /** Shows the graph again as the user has last asked for; null after the user has moved the view. */
  private again: (() => void) | null = null;
  private waiting = 0;

  constructor(private readonly actions: Actions) {
    this.picture = svg("svg", { class: "graph", role: "group", "aria-label": "Operators and streams" }, this.layer);
    this.element = el("div", { class: "canvas" }, this.far.element, this.picture);
    this.listen();
  }

  show(layout: Layout): void {
    this.layout = layout;
    this.placed = new Map(layout.placed.map((each) => [each.item.id, each]));
    this.largest = [...layout.placed].sort((a, b) => b.width * b.height - a.width * a.height);
    this.places = null;
    this.shapes = new Map();
    this.wires = new Map();
    this.render();
  }

  fit(): void {
    const box = this.element.getBoundingClientRect();
    if (!this.layout || !box.width) return;
    const { width, height } = this.layout;
    this.scale = Math.max(0.005, this.fitting(this.layout));
    this.left = (box.width - width * this.scale) / 2;
    this.top = Math.max(EDGE, (box.height - height * this.scale) / 2);
    this.again = this.fit;
    this.render();
  }

  /** Returns the scale at which a whole layout fits into the view. */
  private fitting({ width, height }: Layout): number {
    const box = this.element.getBoundingClientRect();
    return Math.min(LARGEST, (box.width - 2 * EDGE) / width, (box.height - 2 * EDGE) / height);
  }

  /** Returns true if a layout fits into the view while all its texts can be read. */
  readable(layout: Layout): boolean {
    return this.fitting(layout) >= READABLE;
  }

  /** Shows the whole graph, or its beginning if the whole would be too small to be read. */
  open(): void {
    const box = this.element.getBoundingClientRect();
    if (!this.layout || !box.width) return;
    if (this.readable(this.layout)) this.fit();
    else this.begin(this.layout, box);
    this.again = this.open;
    this.keep(this.kept);
  }

  private begin({ placed, width, height }: Layout, box: DOMRect): void {
    const first = placed.filter((each) => each.item.operators.includes(0)).at(-1)!;
    const longer = Math.max((box.width - 2 * EDGE) / width, (box.height - 2 * EDGE) / height);
    this.scale = Math.min(CLOSE, Math.max(READABLE, longer));
    const from = (middle: number, size: number, room: number): number => size <= room - 2 * EDGE
      ? (room - size) / 2
      : Math.min(EDGE, Math.max(room - EDGE - size, room / 2 - middle));
    this.left = from((first.x + first.width / 2) * this.scale, width * this.scale, box.width);
    this.top = from((first.y + first.height / 2) * this.scale, height * this.scale, box.height);
    this.render();
  }

  zoom(factor: number, x?: number, y?: number): void {
    const box = this.element.getBoundingClientRect();
    const [cx, cy] = [x ?? box.width / 2, y ?? box.height / 2];
    const scale = Math.min(3, Math.max(0.005, this.scale * factor));
    this.left = cx - ((cx - this.left) * scale) / this.scale;
    this.top = cy - ((cy - this.top) * scale) / this.scale;
    this.scale = scale;
    this.again = null;
    this.glide();
  }

  centre(id: string): void {
    const placed = this.placed.get(id);
    const box = this.element.getBoundingClientRect();
    if (!placed) return;
    this.again = null;
    this.scale = Math.max(this.scale, CLOSE);
    this.left = box.width / 2 - (placed.x + Math.min(placed.width, box.width / this.scale) / 2) * this.scale;
    this.top = box.height / 2 - (placed.y + Math.min(placed.height, 200) / 2) * this.scale;
    this.render();
  }

  focus(id: string): void {
    const placed = this.placed.get(id);
    (placed && (this.shapes.get(placed)?.group as SVGGElement | undefined))?.focus();
  }

  select(id: string): void {
    this.group(this.selected)?.classList.remove("selected");
    this.selected = id;
    this.group(id)?.classList.add("selected");
    if (!this.far.element.hidden) this.glide();
    this.kept = id;
    this.keep(id);
  }

  /** Marks the lines of a stream, and keeps its producer in the view; marks none for an empty name. */
  selectStream(stream: string, producer = ""): void {
    this.stream = stream;
    if (stream) this.kept = producer;
    this.keep(this.kept);
    for (const [wire, { outer }] of this.wires) outer.classList.toggle("selected", carries(wire, stream));
  }

  /** Marks the operators and folded boxes of a consistent region; marks none for -1. */
  selectRegion(region: number): void {
    this.region = region;
    for (const [each, { group }] of this.shapes) group.classList.toggle("in-region", this.isMarked(each));
  }

  private isMarked({ item, open }: Placed): boolean {
    return !open && this.region >= 0 && (item.operator?.region ?? item.box!.region) === this.region;
  }

  /** Moves the view by the least distance that shows a whole shape, or its beginning if the shape is too large. */
  keep(id: string): void {
    const placed = this.placed.get(id);
    const box = this.element.getBoundingClientRect();
    if (!placed || !box.width) return;
    const shift = (from: number, size: number, room: number): number =>
      Math.max(EDGE - from, 0) || Math.min(0, Math.max(room - EDGE - from - size, EDGE - from));
    const across = shift(placed.x * this.scale + this.left, placed.width * this.scale, box.width);
    const down = shift(placed.y * this.scale + this.top, placed.height * this.scale, box.height);
    if (!across && !down) return;
    this.left += across;
    this.top += down;
    this.render();
  }

  update(snapshot: Snapshot | null, heat: Heat): void {
    this.figures = new Figures(snapshot, heat, this);
    for (const [each, shape] of this.shapes) this.state(each, shape);
    for (const shape of this.wires.values()) this.value(shape);
    if (!this.far.element.hidden) this.glide();
  }

  private group(id: string): SVGElement | undefined {
    const placed = this.placed.get(id);
    return placed && this.shapes.get(placed)?.group;
  }

  /** Draws at most once in a frame, however often the view moves in it. */
  private glide(): void {
    this.waiting ||= requestAnimationFrame(() => this.render());
  }

  /** Writes the texts again for another scale, since they keep their least size on the screen. */
  private rewrite(): void {
    if (this.written === this.scale) return;
    if (Math.min(this.written, this.scale) < 1) {
      this.layer.style.setProperty("--grown", String(Math.max(1, 1 / this.scale)));
      for (const [each, shape] of this.shapes) this.state(each, shape);
    }
    this.written = this.scale;
  }

  private state(each: Placed, { outer, group, write }: Shape): void {
    const now = this.figures.item(each.item);
    for (let level = 1; level <= 4; level++) group.classList.toggle(`heat-${level}`, level === now.level);
    group.classList.toggle("failed", now.failed);
    outer.classList.toggle("has-failed", now.failed);
    write(now.text, this.scale);
  }

  private inSight({ x, y, width, height }: { x: number; y: number; width: number; height: number }, box: DOMRect, margin: number): boolean {
    const [x1, y1] = [x * this.scale + this.left, y * this.scale + this.top];
    return x1 < box.width * (1 + margin) && y1 < box.height * (1 + margin)
      && x1 + width * this.scale > -box.width * margin && y1 + height * this.scale > -box.height * margin;
  }

  private render(): void {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    if (!this.layout) return;
    this.layer.setAttribute("transform", `translate(${this.left} ${this.top}) scale(${this.scale})`);
    this.picture.classList.toggle("far", this.scale < READABLE);
    this.rewrite();
    const { placed, wires } = this.layout;
    const box = this.element.getBoundingClientRect();
    const all = placed.length <= NEAR;
    const near = all ? placed : placed.filter((each) => this.inSight(each, box, 0.5));
    const lines = all ? wires : wires.filter((each) => this.inSight(frame(each), box, 0.5));
    const tooMany = near.length > NEAR;
    this.picture.classList.toggle("behind", tooMany);
    if (!tooMany) {
      this.far.hide();
      this.elements(near, lines);
      return;
    }
    this.far.draw(near, lines, { scale: this.scale, left: this.left, top: this.top }, this.figures, this.selected);
    const reached: Placed[] = [];
    for (const each of this.largest) {
      if (this.inSight(each, box, 0) && reached.push(each) >= REACHED) break;
    }
    const order = new Set(reached);
    this.elements(near.filter((each) => order.has(each)), []);
  }

  /** Makes the elements of these shapes, in the order in which they cover each other; existing elements stay. */
  private elements(boxes: readonly Placed[], lines: readonly Wire[]): void {
    const same = boxes.length === this.shapes.size && lines.length === this.wires.size
      && boxes.every((each) => this.shapes.has(each)) && lines.every((each) => this.wires.has(each));
    if (same) return;
    const focused = document.activeElement?.getAttribute("data-id") ?? "";
    const [shapes, wires] = [this.shapes, this.wires];
    this.shapes = new Map(boxes.map((each) => [each, shapes.get(each) ?? this.made(each)]));
    this.wires = new Map(lines.map((each) => [each, wires.get(each) ?? this.line(each)]));
    const outer = (open: boolean): SVGElement[] => boxes.filter((each) => each.open === open).map((each) => this.shapes.get(each)!.outer);
    const over = [...this.shapes.values()].flatMap((each) => each.over ?? []);
    const drawn = [...this.wires.values()].map((each) => each.outer);
    this.layer.replaceChildren(...outer(true), ...drawn, ...over, ...outer(false));
    if (focused) this.focus(focused);
  }

  private made(each: Placed): Shape {
    const shape = each.open ? boxShape(each, this.actions) : leafShape(each, this.actions);
    if (each.item.id === this.selected) shape.group.classList.add("selected");
    shape.group.classList.toggle("in-region", this.isMarked(each));
    this.state(each, shape);
    return shape;
  }

  private line(wire: Wire): WireShape {
    this.places ??= places(this.layout!.wires);
    const shape = wireShape(wire, this.places.get(wire), this.actions);
    this.value(shape);
    shape.outer.classList.toggle("selected", carries(wire, this.stream));
    return shape;
  }

  private value({ numbers, path, wire }: WireShape): void {
    if (!numbers) return;
    const now = this.figures.wire(wire);
    put(numbers.text, now.rate === null ? "" : rate(now.rate));
    put(numbers.behind, now.late >= 1 ? `${seconds(now.late)} late` : "");
    path.classList.toggle("pressed", now.pressed);
    path.classList.toggle("busy", (now.rate ?? 0) > 0);
  }

  /** Returns the innermost shape at a place of the screen. */
  private at(x: number, y: number): Item | null {
    const box = this.element.getBoundingClientRect();
    const [px, py] = [(x - box.left - this.left) / this.scale, (y - box.top - this.top) / this.scale];
    let best: Placed | null = null;
    for (const each of this.layout?.placed ?? []) {
      const inside = px >= each.x && px <= each.x + each.width && py >= each.y && py <= each.y + each.height;
      if (inside && (!best || each.item.depth > best.item.depth)) best = each;
    }
    return best?.item ?? null;
  }

  private listen(): void {
    let from: { x: number; y: number; left: number; top: number } | null = null;
    const pointers = new Map<number, { x: number; y: number }>();
    let spread = 0;
    this.element.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      spread = distance(pointers);
      this.moved = false;
      from = { x: event.clientX, y: event.clientY, left: this.left, top: this.top };
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!from || !pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pointers.size === 2) {
        const now = distance(pointers);
        const box = this.element.getBoundingClientRect();
        const [a, b] = [...pointers.values()];
        if (spread) this.zoom(now / spread, (a!.x + b!.x) / 2 - box.left, (a!.y + b!.y) / 2 - box.top);
        spread = now;
        return;
      }
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return;
      this.moved = true;
      this.again = null;
      this.element.setPointerCapture(event.pointerId);
      this.left = from.left + event.clientX - from.x;
      this.top = from.top + event.clientY - from.y;
      this.glide();
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
    this.element.addEventListener("click", (event) => {
      const taken = this.far.element.hidden || this.moved || (event.target as Element).closest("[data-id], [data-fold]");
      const item = taken ? null : this.at(event.clientX, event.clientY);
      if (item?.operator || item?.box?.kind === "pe") this.actions.select(item);
      else if (item) this.zoom(2.5, event.offsetX, event.offsetY);
    });
    this.picture.addEventListener("keydown", (event) => this.key(event as KeyboardEvent));
    new ResizeObserver(() => {
      if (this.kept) this.keep(this.kept);
      else this.again?.();
      this.render();
    }).observe(this.element);
  }

  private key(event: KeyboardEvent): void {
    const at = event.target as Element;
    const id = at.getAttribute("data-id") ?? at.getAttribute("data-fold") ?? "";
    const placed = this.placed.get(id);
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
    if (!this.inSight(next, this.element.getBoundingClientRect(), 0)) this.centre(next.item.id);
    this.focus(next.item.id);
  }

  private nearest(from: Placed, dx: number, dy: number): Placed | null {
    const [x, y] = [from.x + from.width / 2, from.y + (from.open ? 16 : from.height / 2)];
    let best: Placed | null = null;
    let least = Infinity;
    for (const each of this.far.element.hidden ? this.layout!.placed : this.shapes.keys()) {
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

function frame(wire: Wire): { x: number; y: number; width: number; height: number } {
  let [x, y, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const point of wire.points) {
    [x, y] = [Math.min(x, point.x), Math.min(y, point.y)];
    [right, bottom] = [Math.max(right, point.x), Math.max(bottom, point.y)];
  }
  return { x, y, width: right - x, height: bottom - y };
}

function carries(wire: Wire, stream: string): boolean {
  return wire.link.edges.some((each) => each.stream === stream);
}

function distance(pointers: Map<number, { x: number; y: number }>): number {
  const [a, b] = [...pointers.values()];
  return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
}
