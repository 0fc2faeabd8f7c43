// The elements of a drawing: boxes, folded boxes and operators, and the lines between them.

import { svg } from "./dom";
import type { Place } from "./labels";
import { kindOf, label, LEAST_TEXT as LEAST, READABLE, textWidth, type Placed, type Point, type Wire } from "./layout";
import type { Item } from "./model";

const NAME = 13;
/** Pixels of a place that a finger can hit. */
const TOUCH = 40;
/** Pixels of the smallest line of text, with its space. */
const LINE = 13;

export interface Actions {
  select: (item: Item) => void;
  selectStream: (stream: string) => void;
  toggle: (item: Item) => void;
}

export interface Shape {
  outer: SVGElement;
  /** The title and the button of an open box, above the lines. */
  over: SVGElement | null;
  /** The element that takes the focus, with the classes of its state. */
  group: SVGElement;
  /** Writes the name and the figures that have room at a scale. */
  write: (figures: string, scale: number) => void;
}

export interface WireShape {
  outer: SVGElement;
  path: SVGElement;
  numbers: { text: SVGElement; behind: SVGElement } | null;
  wire: Wire;
}

export function boxShape(each: Placed, actions: Actions): Shape {
  const { item, width } = each;
  const fold = foldButton(item, width, true, actions);
  const value = svg("text", { class: "value", y: 22, "text-anchor": "end" });
  const name = svg("text", { class: "name", x: 14, y: 22 });
  const spoken = svg("title");
  const reach = svg("rect", { class: "touch", width: Math.max(20, width - 34) });
  const title = svg("g", { class: "title", role: "button", tabindex: 0, "data-id": item.id }, spoken,
    reach, svg("rect", { class: "hit", x: 4, y: 4, width: Math.max(20, width - 40), height: 26, rx: 6 }), name, value);
  const transform = `translate(${each.x} ${each.y})`;
  const outer = svg("g", { class: `box ${item.box!.kind} ${tint(item.box!.region)}`, transform },
    svg("rect", { class: "frame", width, height: each.height, rx: 10 }));
  title.addEventListener("click", () => actions.select(item));
  const write = (figures: string, scale: number): void => {
    const readable = scale >= READABLE;
    const room = width - 14 - (readable ? 12 + 24 * grown(scale) : 4);
    const shown = 34 * scale >= LINE ? cut(item.box!.label, NAME, scale, room) : "";
    put(name, shown);
    put(value, readable ? fitting(figures, scale, room - 10 - written(shown, NAME, scale)) : "");
    value.setAttribute("x", String(14 + room));
    reach.setAttribute("height", String(Math.min(each.height, TOUCH / scale)));
    put(spoken, [item.box!.label, figures].filter(Boolean).join(", "));
  };
  return { outer, over: svg("g", { transform }, title, fold), group: title, write };
}

export function leafShape(each: Placed, actions: Actions): Shape {
  const { item, width, height } = each;
  const kind = kindOf(item);
  const full = `${item.operator?.name ?? item.box!.label}, ${kind}`;
  const marks = item.operator?.marks ?? [];
  const spoken = svg("title");
  const lines = [svg("text", { class: "name", x: 14, y: 21 }), svg("text", { class: "kind", x: 14, y: 39 }), svg("text", { class: "value", x: 14, y: 57 })];
  const leaf = svg("g", {
    class: `leaf ${item.operator ? "operator" : `box folded ${item.box!.kind}`} ${tint(item.operator?.region ?? item.box!.region)}`,
    role: "button", tabindex: 0, "data-id": item.id,
  }, spoken, svg("rect", { class: "frame", width, height, rx: item.box ? 10 : 7 }), ...lines);
  if (marks.length) leaf.append(svg("circle", { class: "mark", cx: width - 12, cy: 12, r: 4 }));
  leaf.addEventListener("click", () => actions.select(item));
  const outer = svg("g", { transform: `translate(${each.x} ${each.y})` }, leaf);
  if (item.box) {
    leaf.addEventListener("dblclick", () => actions.toggle(item));
    outer.append(foldButton(item, width, false, actions));
  }
  const write = (figures: string, scale: number): void => {
    const readable = scale >= READABLE;
    const room = width - 14 - (readable && item.box ? 10 + 24 * grown(scale) : marks.length ? 20 : 6);
    put(lines[0]!, height * scale >= LINE ? cut(label(item), NAME, scale, room) : "");
    put(lines[1]!, readable ? cut(kind, LEAST, scale, item.box ? room : width - 18) : "");
    put(lines[2]!, readable ? fitting(figures, scale, width - 18) : "");
    put(spoken, [full, figures, ...marks].filter(Boolean).join(", "));
  };
  return { outer, over: null, group: leaf, write };
}

function foldButton(item: Item, width: number, open: boolean, actions: Actions): SVGElement {
  const text = `${open ? "Fold" : "Unfold"} ${item.box!.label}`;
  const made = svg("g", { class: "fold", role: "button", tabindex: 0, "data-fold": item.id, "aria-expanded": String(open), "aria-label": text },
    svg("title", {}, text),
    svg("rect", { class: "touch", x: width - 38, y: -5, width: TOUCH, height: TOUCH }),
    svg("rect", { class: "face", x: width - 29, y: 3, width: 24, height: 24, rx: 5 }),
    svg("path", { d: `M${width - 23} 15h12${open ? "" : "m-6 -6v12"}`, class: "sign" }));
  made.addEventListener("click", () => actions.toggle(item));
  return made;
}

/** Returns the factor by which letters and buttons are enlarged against the picture, so that they stay readable. */
function grown(scale: number): number {
  return Math.max(1, 1 / scale);
}

/** Returns the width of a text in units of the picture; its letters have at least the least size. */
function written(text: string, size: number, scale: number): number {
  const font = size === NAME ? "600 13px system-ui, sans-serif" : "11px system-ui, sans-serif";
  return (textWidth(text, font) * Math.max(size, LEAST / scale)) / size;
}

/** Returns the beginning of a text that has room, with the number of its channel; empty if there is no room. */
function cut(text: string, size: number, scale: number, room: number): string {
  const whole = written(text, size, scale);
  if (whole <= room) return text;
  const end = /(\[[^\]]*\]| ×\S+)$/.exec(text)?.[0] ?? "";
  let most = Math.floor((text.length * room) / whole) - end.length;
  // letters at the beginning may be wider than the mean letter of the whole text
  while (most >= 2 && written(`${text.slice(0, most)}…${end}`, size, scale) > room) most--;
  return most < 2 ? "" : `${text.slice(0, most)}…${end}`;
}

/** Returns the first figures that have room. */
function fitting(figures: string, scale: number, room: number): string {
  const parts = figures.split(" · ");
  while (parts.length && written(parts.join(" · "), LEAST, scale) > room) parts.pop();
  return parts.join(" · ");
}

/** Writes a text after a space, since screen readers read the texts of a shape one after the other. */
export function put(element: SVGElement, text: string): void {
  const written = text && ` ${text}`;
  if (element.textContent !== written) element.textContent = written;
}

export function wireShape(wire: Wire, place: Place | undefined, actions: Actions): WireShape {
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
    const head = svg("g", { transform: turned(wire.points.at(-2)!, end, end) }, svg("path", { class: "head", d: "M-8 -4L0 0L-8 4Z" }));
    if (edges.some((each) => each.queue)) {
      for (const bar of [0, 1, 2]) head.append(svg("rect", { class: "queue", x: -23 + 4.5 * bar, y: -6, width: 3.5, height: 12 }));
    }
    if (edges.some((each) => each.network)) head.append(svg("circle", { class: "network", cx: -14, cy: 0, r: 5.5 }));
    group.append(head);
  }
  if (wire.first && edges.some((each) => each.split)) {
    group.append(svg("path", { class: "split", d: "M3 0l5 -5l5 5l-5 5Z", transform: turned(start, wire.points[1]!, start) }));
  }
  let numbers: WireShape["numbers"] = null;
  if (place) {
    const number = (y: number): SVGElement => svg("text", { class: "rate", x: place.x, y, "text-anchor": place.anchor });
    const [text, behind] = [number(place.y - 5), number(place.y + 12)];
    group.append(text, behind);
    numbers = { text, behind };
  }
  group.addEventListener("click", () => actions.selectStream(edges[0]!.stream));
  return { outer: group, path, numbers, wire };
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

/** Returns the transformation that moves a mark to a place, and turns it along a part of a line. */
function turned(begin: Point, end: Point, to: Point): string {
  const angle = (Math.atan2(end.y - begin.y, end.x - begin.x) * 180) / Math.PI;
  return `translate(${to.x} ${to.y}) rotate(${angle})`;
}

function rounded(points: Point[], arrow: boolean): string {
  const way = points.map((point) => ({ ...point }));
  if (arrow) {
    const [before, end] = [way.at(-2)!, way.at(-1)!];
    const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
    end.x -= (6 * (end.x - before.x)) / length;
    end.y -= (6 * (end.y - before.y)) / length;
  }
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
