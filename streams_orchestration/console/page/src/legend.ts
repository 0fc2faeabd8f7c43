// The legend of a graph: the signs that occur in it, in words.

import { el } from "./dom";
import type { Graph } from "./types";

export function legend({ boxes, operators, edges }: Graph, live: boolean): HTMLElement[] {
  const signs: [string, string, boolean][] = [
    ["region", "colour of a frame: consistent region", operators.some((each) => each.region >= 0)],
    ["composite", "dashed frame: composite or channel", boxes.some((each) => each.kind !== "pe")],
    ["mark", "dot: the operator splits its stream, starts or ends a consistent region, or is locked; its details say which", operators.some((each) => each.marks.length)],
    ["queue", "queue in front of an input port", edges.some((each) => each.queue)],
    ["split", "splitter behind an output port", edges.some((each) => each.split)],
    ["network", "Network operators", edges.some((each) => each.network)],
    ["copy", "tuples are copied", edges.some((each) => each.passing === "copy")],
    ["enqueue", "tuples are copied into a queue", edges.some((each) => each.passing === "enqueue")],
    ["serialize", "tuples pass over the transport", edges.some((each) => each.passing === "serialize")],
    ["pressed", "back-pressure", live],
    ["heat", "high processor time, lag or state size, as chosen under Colour", live],
    ["failed", "failed", live],
  ];
  return signs.filter(([, , occurs]) => occurs).map(([sign, text]) => el("li", {}, el("i", { class: `sign-${sign}` }), text));
}
