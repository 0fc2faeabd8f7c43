// The figures of a snapshot for the drawn operators and boxes, and for the streams between them.

import { percent, rate } from "./dom";
import type { Wire } from "./layout";
import type { Item } from "./model";
import type { Snapshot } from "./types";

export type Heat = "none" | "processor" | "lag" | "state";

const STEPS: Record<Heat, number[]> = {
  none: [], processor: [0.05, 0.25, 0.5, 0.75], lag: [1, 5, 20, 60], state: [1e4, 1e6, 1e7, 1e8],
};

/** The names and PEs of a view's operators. */
export interface Names {
  operatorName: (index: number) => string;
  peOf: (index: number) => number;
  isOnlyInput: (index: number) => boolean;
}

export interface ItemFigures {
  /** The level of the heat map, 0 to 4. */
  level: number;
  failed: boolean;
  text: string;
}

export interface WireFigures {
  rate: number | null;
  /** Seconds by which the slowest reader is behind. */
  late: number;
  pressed: boolean;
}

/** The figures of one snapshot; the figures of an item are computed once. */
export class Figures {
  private readonly items = new Map<string, ItemFigures>();
  private readonly troubled: Set<number>;
  private readonly late = new Map<string, number>();
  private readonly pressed = new Set<string>();

  constructor(private readonly now: Snapshot | null, private readonly heat: Heat, private readonly names: Names) {
    this.troubled = new Set(now?.pes.filter((pe) => pe.trouble !== null).map((pe) => pe.id));
    for (const stream of now?.streams ?? []) {
      for (const reader of stream.readers) {
        const key = `${stream.name.split(">")[0]} ${reader.pe}`;
        this.late.set(key, Math.max(this.late.get(key) ?? 0, reader.seconds));
        if (reader.pressure >= 1) this.pressed.add(key);
      }
    }
  }

  item(item: Item): ItemFigures {
    let known = this.items.get(item.id);
    if (!known) this.items.set(item.id, (known = this.look(item)));
    return known;
  }

  wire(wire: Wire): WireFigures {
    const { now, names } = this;
    const seen = new Set<string>();
    let sum: number | null = null;
    for (const edge of wire.link.edges) {
      // the rate of a port is known; for one channel behind a splitter, only the rate of its one reader is known
      const key = edge.split ? `>${edge.target}` : `${edge.source}:${edge.port}`;
      const reader = names.isOnlyInput(edge.target) ? now?.operators[names.operatorName(edge.target)] : undefined;
      const value = edge.split ? reader?.rate : now?.operators[names.operatorName(edge.source)]?.out[edge.port];
      if (seen.has(key) || value === null || value === undefined) continue;
      seen.add(key);
      sum = (sum ?? 0) + value;
    }
    const keys = wire.link.edges.map((each) => `${each.stream} ${names.peOf(each.target)}`);
    return {
      rate: sum,
      late: keys.reduce((most, each) => Math.max(most, this.late.get(each) ?? 0), 0),
      pressed: this.pressed.size > 0 && keys.some((each) => this.pressed.has(each)),
    };
  }

  private look(item: Item): ItemFigures {
    const { now, names } = this;
    let cores: number | null = null;
    let lag = 0;
    let size = 0;
    let failed = item.box?.kind === "pe" && this.troubled.has(item.box.pe);
    for (const index of item.operators) {
      failed ||= this.troubled.size > 0 && this.troubled.has(names.peOf(index));
      const each = now?.operators[names.operatorName(index)];
      if (!each) continue;
      if (each.cores !== null) cores = (cores ?? 0) + each.cores;
      lag = Math.max(lag, each.lag ?? 0);
      size += each.state;
    }
    const figure = { processor: cores ?? 0, lag, state: size, none: 0 }[this.heat];
    const parts = [failed ? "failed" : ""];
    const own = item.operator ? now?.operators[item.operator.name] : undefined;
    if (own?.rate !== null && own?.rate !== undefined) parts.push(rate(own.rate));
    if (cores !== null) parts.push(cores < 0.001 ? "0 %" : percent(cores));
    return { level: STEPS[this.heat].filter((step) => figure >= step).length, failed, text: parts.filter(Boolean).join(" · ") };
  }
}
