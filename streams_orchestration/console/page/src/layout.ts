// The layout of the visible items, from left to right or from top to bottom. Each box is laid out by itself, boxes of one
// shape once. A link through the border of a box passes a port of that box.

import ELK, { type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk-api";
import type { Item, Link, Model } from "./model";

export interface Point {
  x: number;
  y: number;
}

export interface Placed {
  item: Item;
  x: number;
  y: number;
  width: number;
  height: number;
  open: boolean;
}

export type Direction = "RIGHT" | "DOWN";

/** The part of a link within one box. */
export interface Wire {
  link: Link;
  points: Point[];
  /** True if this part begins at the source, and not at the border of a box. */
  first: boolean;
  /** True if this part ends at the target. */
  last: boolean;
  /** True in the innermost box around both ends; each link has one such part. */
  between: boolean;
}

export interface Layout {
  placed: Placed[];
  wires: Wire[];
  width: number;
  height: number;
}

const PADDING = { left: 18, right: 18, top: 40, bottom: 14 };
/** Pixels of the smallest text. If there is no room for this size, the text is left out. */
export const LEAST_TEXT = 11;
/** The scale from which operators show all lines of text, in letters of at least the least size. */
export const READABLE = 0.7;
/** The scale at which the kind of an operator has room; a long kind is cut below it, so that fewer graphs are folded. */
const KIND_SCALE = 0.85;
/** Room beside a text for the button that unfolds a box. */
const TEXT_ROOM = 18;
const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.spacing.nodeNode": "18",
  "elk.spacing.edgeNode": "14",
  "elk.padding": "[top=0,left=0,bottom=0,right=0]",
};

/** Pixels between layers: the number of a stream is above a level line, and beside an upright one. */
const BETWEEN_LAYERS: Record<Direction, string> = { RIGHT: "64", DOWN: "46" };
const SIDES: Record<Direction, { in: string; out: string }> = {
  RIGHT: { in: "WEST", out: "EAST" }, DOWN: { in: "NORTH", out: "SOUTH" },
};

interface Shape {
  width: number;
  height: number;
  nodes: Point[];
  edges: Point[][];
  inputs: Point[];
  outputs: Point[];
}

interface Content {
  box: Item;
  width: number;
  height: number;
  shape: Shape;
  inner: (Content | null)[];
  children: Item[];
  wires: { link: Link; from: "item" | "port" | "border"; to: "item" | "port" | "border" }[];
  inputs: string[];
  outputs: string[];
}

interface Crossing {
  links: Link[];
  inputs: Map<string, Link>;
  outputs: Map<string, Link>;
}

let measuring: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, font = "600 13px system-ui, sans-serif"): number {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (!measuring) return text.length * 7;
  measuring.font = font;
  return measuring.measureText(text).width;
}

export function label(each: Item): string {
  return each.operator ? each.operator.name.slice(each.operator.name.lastIndexOf(".") + 1) : each.box!.label;
}

/** Returns the second line of a shape: the kind of an operator, or the operator or operators of a folded box. */
export function kindOf(each: Item): string {
  if (each.operator) return each.operator.kind.split(":").pop()!;
  let only = each;
  while (only.children.length === 1) only = only.children[0]!;
  return only.operator ? label(only) : `${each.operators.length} operators`;
}

/** Returns the room of a shape: its name fits at every scale at which all texts are shown, its kind at most of them. */
export function sizeOf(each: Item): { width: number; height: number } {
  const beside = each.box ? 34 + TEXT_ROOM : each.operator!.marks.length ? 36 : 24;
  const name = (textWidth(label(each)) * LEAST_TEXT) / READABLE / 13 + beside;
  const kind = textWidth(kindOf(each), "11px system-ui, sans-serif") / KIND_SCALE + (each.box ? 34 + TEXT_ROOM : 20);
  const wide = Math.max(name, kind, 112);
  return { width: Math.min(Math.ceil(wide / 20) * 20, 260), height: 66 };
}

export class Layouter {
  private readonly shapes = new Map<string, Promise<Shape>>();
  private readonly elk: InstanceType<typeof ELK>;
  calls = 0;

  constructor(worker: () => Worker, public direction: Direction) {
    this.elk = new ELK({ workerFactory: worker });
    // the first layout takes the longest, so it is made while the graph is being loaded
    void this.elk.layout({ id: "box", layoutOptions: this.options(), children: [{ id: "0", width: 1, height: 1 }] });
  }

  private options(): Record<string, string> {
    const { direction } = this;
    return { ...OPTIONS, "elk.direction": direction, "elk.layered.spacing.nodeNodeBetweenLayers": BETWEEN_LAYERS[direction] };
  }

  async layout(model: Model, open: ReadonlySet<string>): Promise<Layout> {
    const { direction } = this;
    const crossings = new Map<Item, Crossing>();
    const at = (each: Item): Crossing => {
      const known = crossings.get(each) ?? { links: [], inputs: new Map(), outputs: new Map() };
      crossings.set(each, known);
      return known;
    };
    for (const link of model.links(open)) {
      const around = new Set<Item>();
      for (let each = link.source.parent; each; each = each.parent) around.add(each);
      let common: Item = link.target.parent!;
      while (!around.has(common)) {
        at(common).inputs.set(link.target.id, link);
        common = common.parent!;
      }
      for (let each = link.source.parent!; each !== common; each = each.parent!) at(each).outputs.set(link.source.id, link);
      at(common).links.push(link);
    }
    const content = await this.content(model.root, open, at);
    const result: Layout = { placed: [], wires: [], width: content.width, height: content.height };
    draw(content, { x: 0, y: 0 }, direction, result);
    return result;
  }

  private async content(box: Item, open: ReadonlySet<string>, at: (each: Item) => Crossing): Promise<Content> {
    const crossing = at(box);
    const children = box.children;
    const inner = await Promise.all(
      children.map((each) => (each.children.length && open.has(each.id) ? this.content(each, open, at) : null)),
    );
    const holder = (each: Item): number => {
      let inside = each;
      while (inside.parent !== box) inside = inside.parent!;
      return children.indexOf(inside);
    };
    const end = (each: Item): "item" | "port" => (each.parent === box ? "item" : "port");
    const inputs = [...crossing.inputs.keys()];
    const outputs = [...crossing.outputs.keys()];
    const ends: [number, string, number, string][] = [];
    const wires: Content["wires"] = [];
    for (const link of crossing.links) {
      ends.push([holder(link.source), link.source.id, holder(link.target), link.target.id]);
      wires.push({ link, from: end(link.source), to: end(link.target) });
    }
    const count = children.length;
    inputs.forEach((id, number) => {
      const link = crossing.inputs.get(id)!;
      ends.push([count + number, "", holder(link.target), id]);
      wires.push({ link, from: "border", to: end(link.target) });
    });
    outputs.forEach((id, number) => {
      const link = crossing.outputs.get(id)!;
      ends.push([holder(link.source), id, count + inputs.length + number, ""]);
      wires.push({ link, from: end(link.source), to: "border" });
    });
    const shape = await this.shape(children, inner, inputs.length, outputs.length, ends);
    const root = box.parent === null;
    const title = root ? 0 : textWidth(box.box!.label) + 90;
    return {
      width: Math.max(shape.width + (root ? 0 : PADDING.left + PADDING.right), title),
      height: shape.height + (root ? 0 : PADDING.top + PADDING.bottom),
      box, shape, inner, children, wires, inputs, outputs,
    };
  }

  private shape(
    children: Item[], inner: (Content | null)[], inputs: number, outputs: number, ends: [number, string, number, string][],
  ): Promise<Shape> {
    const nodes: ElkNode[] = children.map((each, number) => node(String(number), each, inner[number] ?? null, this.direction));
    const border = (number: number, side: "FIRST" | "LAST"): ElkNode => ({
      id: String(number), width: 1, height: 1, layoutOptions: { "elk.layered.layering.layerConstraint": side },
    });
    for (let number = 0; number < inputs; number++) nodes.push(border(nodes.length, "FIRST"));
    for (let number = 0; number < outputs; number++) nodes.push(border(nodes.length, "LAST"));
    const port = (number: number, id: string, side: "in" | "out"): string => {
      const within = inner[number];
      if (!within || !id) return String(number);
      return `${number}.${side}.${(side === "in" ? within.inputs : within.outputs).indexOf(id)}`;
    };
    const edges: ElkExtendedEdge[] = ends.map(([source, from, target, to], number) => ({
      id: `e${number}`, sources: [port(source, from, "out")], targets: [port(target, to, "in")],
    }));
    const key = JSON.stringify([this.direction, nodes, edges]);
    let known = this.shapes.get(key);
    if (!known) {
      known = this.place(nodes, edges, children.length, inputs);
      this.shapes.set(key, known);
    }
    return known;
  }

  private async place(nodes: ElkNode[], edges: ElkExtendedEdge[], count: number, inputs: number): Promise<Shape> {
    this.calls += 1;
    const options = { ...this.options(), ...(nodes.length > 150 && { "elk.layered.thoroughness": "3" }) };
    const box: ElkNode = { id: "box", layoutOptions: options, children: nodes, edges };
    const done: ElkNode = await this.elk.layout(box);
    const at = (done.children ?? []).map((each) => ({ x: each.x ?? 0, y: each.y ?? 0 }));
    const ways = (done.edges ?? []).map((each) => {
      const section = each.sections?.[0];
      return section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint] : [];
    });
    return {
      width: done.width ?? 0,
      height: done.height ?? 0,
      nodes: at.slice(0, count),
      edges: ways,
      inputs: at.slice(count, count + inputs),
      outputs: at.slice(count + inputs),
    };
  }
}

function node(id: string, each: Item, inner: Content | null, direction: Direction): ElkNode {
  if (!inner) return { id, ...sizeOf(each) };
  const port = (side: "in" | "out", { x, y }: Point, number: number) => ({
    id: `${id}.${side}.${number}`, width: 0, height: 0, layoutOptions: { "elk.port.side": SIDES[direction][side] },
    ...onBorder(inner, side === "in", { x: x + PADDING.left, y: y + PADDING.top }, direction),
  });
  return {
    id, width: inner.width, height: inner.height,
    ports: [
      ...inner.shape.inputs.map((at, number) => port("in", at, number)),
      ...inner.shape.outputs.map((at, number) => port("out", at, number)),
    ],
    layoutOptions: { "elk.portConstraints": "FIXED_POS" },
  };
}

/** Returns the point of a box's border through which a link reaches a point inside. */
function onBorder(box: Content, incoming: boolean, { x, y }: Point, direction: Direction): Point {
  if (direction === "RIGHT") return { x: incoming ? 0 : box.width, y };
  return { x, y: incoming ? 0 : box.height };
}

function draw(content: Content, corner: Point, direction: Direction, result: Layout): void {
  const root = content.box.parent === null;
  const inside = root ? corner : { x: corner.x + PADDING.left, y: corner.y + PADDING.top };
  content.children.forEach((each, number) => {
    const at = content.shape.nodes[number]!;
    const inner = content.inner[number] ?? null;
    const { width, height } = inner ?? sizeOf(each);
    const placed = { item: each, x: inside.x + at.x, y: inside.y + at.y, width, height, open: inner !== null };
    result.placed.push(placed);
    if (inner) draw(inner, placed, direction, result);
  });
  content.wires.forEach((wire, number) => {
    const points = (content.shape.edges[number] ?? []).map((point) => ({ x: inside.x + point.x, y: inside.y + point.y }));
    if (!points.length) return;
    const border = (incoming: boolean, { x, y }: Point): Point => {
      const at = onBorder(content, incoming, { x: x - corner.x, y: y - corner.y }, direction);
      return { x: corner.x + at.x, y: corner.y + at.y };
    };
    if (wire.from === "border") points.unshift(border(true, points[0]!));
    if (wire.to === "border") points.push(border(false, points.at(-1)!));
    const between = wire.from !== "border" && wire.to !== "border";
    result.wires.push({ link: wire.link, points, first: wire.from === "item", last: wire.to === "item", between });
  });
}
