// The elements of a drawing: boxes, folded boxes and operators, and the lines between them.

import { svg } from "./dom";
import type { Place } from "./labels";
import { label, type Placed, type Wire } from "./layout";
import type { Item } from "./model";

export interface Actions {
  select: (item: Item) => void;
  selectStream: (stream: string) => void;
  toggle: (item: Item) => void;
}

export interface Shape {
  outer: SVGElement;
  /** What has the focus, and the classes of its state. */
  group: SVGElement;
  /** Where its figures stand. */
  value: SVGElement;
}

export interface WireShape {
  outer: SVGElement;
  path: SVGElement;
  numbers: { text: SVGElement; behind: SVGElement } | null;
  wire: Wire;
}

export function boxShape(each: Placed, actions: Actions): Shape {
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
  title.addEventListener("click", () => actions.select(item));
  fold.addEventListener("click", () => actions.toggle(item));
  return { outer: group, group: title, value };
}

export function leafShape(each: Placed, actions: Actions): Shape {
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
  leaf.addEventListener("click", () => actions.select(item));
  const outer = svg("g", { transform: `translate(${each.x} ${each.y})` }, leaf);
  if (item.box) {
    const unfold = svg("g", { class: "fold", role: "button", tabindex: 0, "data-fold": item.id, "aria-expanded": "false" },
      svg("title", {}, `Unfold ${item.box.label}`),
      svg("rect", { x: width - 30, y: 7, width: 22, height: 22, rx: 5 }),
      svg("path", { d: `M${width - 25} 18h12m-6 -6v12`, class: "sign" }));
    unfold.addEventListener("click", () => actions.toggle(item));
    leaf.addEventListener("dblclick", () => actions.toggle(item));
    outer.append(unfold);
  }
  return { outer, group: leaf, value };
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
    group.append(svg("path", { class: "head", d: `M${end.x - 8} ${end.y - 4}L${end.x} ${end.y}L${end.x - 8} ${end.y + 4}Z` }));
    if (edges.some((each) => each.queue)) {
      for (const bar of [0, 1, 2]) group.append(svg("rect", { class: "queue", x: end.x - 23 + 4.5 * bar, y: end.y - 6, width: 3.5, height: 12 }));
    }
    if (edges.some((each) => each.network)) group.append(svg("circle", { class: "network", cx: end.x - 14, cy: end.y, r: 5.5 }));
  }
  if (wire.first && edges.some((each) => each.split)) {
    group.append(svg("path", { class: "split", d: `M${start.x + 3} ${start.y}l5 -5l5 5l-5 5Z` }));
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

function cut(text: string, width: number): string {
  const most = Math.floor(width / 7);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
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
