// The places of the numbers of streams: beside their lines, without overlaps.

import type { Point, Wire } from "./layout";

export interface Place extends Point {
  anchor: "middle" | "start";
}

/** Room of a number above its line, and of its delay below. */
const WIDTH = 66;
const ABOVE = 17;
const BELOW = 15;
/** Positions along a line, the best first. */
const ALONG = [0.5, 0.25, 0.75];

/** The most lines that are checked for crossing a number. */
const CROSSED = 300;

/** Returns a place for each wire between items; lines that meet have theirs on different parts, if possible. */
export function places(wires: readonly Wire[]): Map<Wire, Place> {
  const taken = new Map<string, Place[]>();
  const lines = wires.length > CROSSED ? [] : wires.flatMap((wire) => wire.points.slice(1).map((end, number) => ({ wire, begin: wire.points[number]!, end })));
  const crossed = (wire: Wire, place: Place): boolean => {
    const { left, right, top, bottom } = { ...frame(place), bottom: place.y };
    return lines.some(({ wire: other, begin, end }) => other !== wire
      && Math.max(begin.x, end.x) > left && Math.min(begin.x, end.x) < right && Math.max(begin.y, end.y) > top && Math.min(begin.y, end.y) < bottom);
  };
  const chosen = new Map<Wire, Place>();
  for (const wire of wires) {
    if (!wire.between) continue;
    const wanted = candidates(wire.points);
    const open = wanted.filter((each) => free(each, taken));
    const place = open.find((each) => !crossed(wire, each)) ?? open[0] ?? beside(wanted[0]!, taken);
    for (const key of cells(place)) taken.set(key, [...(taken.get(key) ?? []), place]);
    chosen.set(wire, place);
  }
  return chosen;
}

function candidates(points: readonly Point[]): Place[] {
  const parts = points.slice(1).map((end, number) => ({ begin: points[number]!, end }));
  const length = ({ begin, end }: { begin: Point; end: Point }): number => Math.hypot(end.x - begin.x, end.y - begin.y);
  const level = parts.filter(({ begin, end }) => Math.abs(end.x - begin.x) > Math.abs(end.y - begin.y));
  const upright = parts.filter((part) => !level.includes(part) && length(part) >= ABOVE + BELOW);
  const above: Place[] = level.sort((a, b) => length(b) - length(a)).flatMap(({ begin, end }) =>
    ALONG.map((way): Place => ({ x: begin.x + (end.x - begin.x) * way, y: end.y, anchor: "middle" })));
  const right: Place[] = upright.flatMap(({ begin, end }) =>
    ALONG.map((way): Place => ({ x: begin.x + 4, y: begin.y + (end.y - begin.y) * way, anchor: "start" })));
  const [first, last] = [points[0]!, points.at(-1)!];
  const wanted = Math.abs(last.x - first.x) > Math.abs(last.y - first.y) ? [...above, ...right] : [...right, ...above];
  return wanted.length ? wanted : [{ ...points[0]!, anchor: "start" }];
}

/** Returns a free place further and further away, for a line whose own places are all taken. */
function beside(place: Place, taken: ReadonlyMap<string, Place[]>): Place {
  for (let step = 1; step < 20; step++) {
    for (const way of [-step, step]) {
      const moved = { ...place, y: place.y + way * ABOVE };
      if (free(moved, taken)) return moved;
    }
  }
  return place;
}

function frame(place: Place): { left: number; right: number; top: number; bottom: number } {
  const left = place.anchor === "middle" ? place.x - WIDTH / 2 : place.x;
  return { left, right: left + WIDTH, top: place.y - ABOVE, bottom: place.y + BELOW };
}

function free(place: Place, taken: ReadonlyMap<string, Place[]>): boolean {
  const own = frame(place);
  return cells(place).every((key) => (taken.get(key) ?? []).every((each) => {
    const other = frame(each);
    return own.left >= other.right || own.right <= other.left || own.top >= other.bottom || own.bottom <= other.top;
  }));
}

/** Squares of a coarse grid that a place touches, so that only neighbours are compared. */
function cells(place: Place): string[] {
  const { left, right, top, bottom } = frame(place);
  const keys: string[] = [];
  for (let column = Math.floor(left / 80); column <= Math.floor(right / 80); column++) {
    for (let row = Math.floor(top / 40); row <= Math.floor(bottom / 40); row++) keys.push(`${column} ${row}`);
  }
  return keys;
}
