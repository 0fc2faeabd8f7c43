// The visible part of a graph whose boxes are open or folded: nodes in nested boxes, and the edges between them.

import type { Box, Edge, Graph, Operator } from "./types";

export interface Item {
  id: string;
  parent: Item | null;
  children: Item[];
  box: Box | null;
  operator: Operator | null;
  /** The positions of all operators in the box. */
  operators: number[];
  depth: number;
}

export interface Link {
  id: string;
  source: Item;
  target: Item;
  edges: Edge[];
}

/** A hit of a search: an item, a stream with the item that produces it, or a region. */
export interface Hit {
  label: string;
  what: string;
  item?: Item;
  stream?: string;
  region?: number;
}

/** The most shapes that are unfolded without a request of the user. */
export const SHOWN_AT_FIRST = 60;

export class Model {
  readonly root: Item;
  readonly items = new Map<string, Item>();
  private readonly ofOperator: Item[];

  constructor(readonly graph: Graph) {
    this.root = { id: "", parent: null, children: [], box: null, operator: null, operators: [], depth: 0 };
    for (const box of graph.boxes) this.items.set(box.id, item(box.id, box, null));
    for (const box of graph.boxes) this.place(this.items.get(box.id)!, box.parent);
    this.ofOperator = graph.operators.map((operator, index) => {
      const made = item(`op:${operator.name}`, null, operator);
      this.items.set(made.id, made);
      this.place(made, operator.box);
      for (let each: Item | null = made; each; each = each.parent) each.operators.push(index);
      return made;
    });
    const deepen = (each: Item, depth: number): void => {
      each.depth = depth;
      each.children.forEach((child) => deepen(child, depth + 1));
    };
    deepen(this.root, 0);
  }

  private place(made: Item, parent: string | null): void {
    made.parent = parent === null ? this.root : (this.items.get(parent) ?? this.root);
    made.parent.children.push(made);
  }

  itemOf(operator: number): Item {
    return this.ofOperator[operator]!;
  }

  /** Returns the boxes to open at first: outer ones before inner ones, up to `SHOWN_AT_FIRST` shapes. */
  openAtFirst(most = SHOWN_AT_FIRST): Set<string> {
    const open = new Set<string>();
    let shown = this.root.children.length;
    let level = this.root.children;
    while (level.length) {
      const next: Item[] = [];
      for (const each of level) {
        if (!each.children.length || shown + each.children.length > most) continue;
        open.add(each.id);
        shown += each.children.length;
        next.push(...each.children);
      }
      level = next;
    }
    return open;
  }

  /** Returns the open boxes without the innermost level. */
  withoutInnermost(open: ReadonlySet<string>): Set<string> {
    const depth = (id: string): number => this.items.get(id)!.depth;
    const most = Math.max(...[...open].map(depth));
    return new Set([...open].filter((id) => depth(id) < most));
  }

  /** Returns the number of visible operators and folded boxes. */
  shown(open: ReadonlySet<string>): number {
    const count = (each: Item): number => (each === this.root || open.has(each.id) ? each.children.reduce((sum, child) => sum + count(child), 0) : 1);
    return count(this.root);
  }

  /** Returns the innermost visible item around an item. */
  visible(each: Item, open: ReadonlySet<string>): Item {
    let shown = each;
    for (let around = each.parent; around && around !== this.root; around = around.parent) {
      if (!open.has(around.id)) shown = around;
    }
    return shown;
  }

  links(open: ReadonlySet<string>): Link[] {
    const shown = this.ofOperator.map((each) => this.visible(each, open));
    const links = new Map<string, Link>();
    for (const edge of this.graph.edges) {
      const source = shown[edge.source]!;
      const target = shown[edge.target]!;
      if (source === target) continue;
      const id = `${source.id}>${target.id}`;
      const known = links.get(id);
      if (known) known.edges.push(edge);
      else links.set(id, { id, source, target, edges: [edge] });
    }
    return [...links.values()];
  }

  /** Returns the operators, boxes, streams and regions whose name has the text; names that begin with it are first. */
  search(text: string, most = 12): Hit[] {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const hits: Hit[] = [];
    for (const region of new Set(this.graph.operators.map((each) => each.region))) {
      const label = `Region ${region}`;
      if (region >= 0 && label.toLowerCase().includes(wanted)) hits.push({ label, what: "consistent region", region });
    }
    for (const each of this.items.values()) {
      const label = each.operator?.name ?? each.box!.label;
      if (label.toLowerCase().includes(wanted)) {
        hits.push({ label, what: each.operator?.kind ?? each.box!.kind, item: each });
      }
    }
    const streams = new Map<string, Edge>();
    for (const edge of this.graph.edges) {
      if (edge.stream.toLowerCase().includes(wanted) && !streams.has(edge.stream)) streams.set(edge.stream, edge);
    }
    for (const [stream, edge] of streams) {
      if (this.graph.operators[edge.source]!.name !== stream) {
        hits.push({ label: stream, what: "stream", item: this.itemOf(edge.source), stream });
      }
    }
    const rank = (label: string): number => (label.toLowerCase().startsWith(wanted) ? 0 : 1);
    return hits.sort((a, b) => rank(a.label) - rank(b.label) || a.label.length - b.label.length).slice(0, most);
  }
}

function item(id: string, box: Box | null, operator: Operator | null): Item {
  return { id, parent: null, children: [], box, operator, operators: [], depth: 0 };
}
