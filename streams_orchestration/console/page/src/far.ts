// A drawing from far away: thousands of shapes on a canvas, with their names if there is room.

import { el } from "./dom";
import type { Figures } from "./figures";
import type { Placed, Wire } from "./layout";

export interface Eye {
  scale: number;
  left: number;
  top: number;
}

/** Shapes of fewer pixels are left out. */
const LEAST = 1.2;
const NAMED = 56;
const STROKES = ["--wire", "--strong", "--copy", "--queue"] as const;

export class FarPicture {
  readonly element = el("canvas", { class: "distant", "aria-hidden": "true", hidden: "" }) as HTMLCanvasElement;
  private colours = new Map<string, string>();

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours.clear());
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Draws the shapes in sight, outer boxes first. */
  draw(boxes: readonly Placed[], wires: readonly Wire[], eye: Eye, figures: Figures, selected: string): void {
    const { clientWidth: width, clientHeight: height } = this.element.parentElement!;
    const dense = devicePixelRatio || 1;
    this.element.hidden = false;
    if (this.element.width !== Math.round(width * dense) || this.element.height !== Math.round(height * dense)) {
      this.element.width = Math.round(width * dense);
      this.element.height = Math.round(height * dense);
    }
    const pen = this.element.getContext("2d")!;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    for (const each of boxes) if (each.open) this.shape(pen, each, eye, figures, selected);
    this.lines(pen, wires, eye);
    for (const each of boxes) if (!each.open) this.shape(pen, each, eye, figures, selected);
    for (const each of boxes) this.name(pen, each, eye);
  }

  private shape(pen: CanvasRenderingContext2D, each: Placed, eye: Eye, figures: Figures, selected: string): void {
    const [width, height] = [each.width * eye.scale, each.height * eye.scale];
    if (width < LEAST || height < LEAST) return;
    const { level, failed } = figures.item(each.item);
    const region = each.item.operator?.region ?? each.item.box!.region;
    const tint = region >= 0 ? `--r${region % 6}` : "--card";
    const leaf = each.item.operator !== null ? "--card" : tint;
    pen.fillStyle = this.colour(failed ? "--bad-paper" : !each.open && level ? `--h${level}` : each.open ? tint : leaf);
    pen.strokeStyle = this.colour(failed ? "--bad" : each.item.id === selected ? "--accent" : region >= 0 ? `${tint}l` : "--line");
    pen.lineWidth = failed || each.item.id === selected ? 2.5 : Math.min(1, width / 12);
    const [x, y] = [each.x * eye.scale + eye.left, each.y * eye.scale + eye.top];
    pen.fillRect(x, y, width, height);
    pen.strokeRect(x, y, width, height);
  }

  /** Draws all lines of one kind at once. */
  private lines(pen: CanvasRenderingContext2D, wires: readonly Wire[], eye: Eye): void {
    const paths = new Map<string, Path2D>();
    for (const { points, link } of wires) {
      const [begin, end] = [points[0]!, points.at(-1)!];
      if (Math.hypot(end.x - begin.x, end.y - begin.y) * eye.scale < 2 * LEAST) continue;
      const passing = link.edges[0]!.passing;
      const stroke = STROKES[["reference", "serialize", "copy", "enqueue"].indexOf(passing)] ?? "--wire";
      let path = paths.get(stroke);
      if (!path) paths.set(stroke, (path = new Path2D()));
      path.moveTo(begin.x * eye.scale + eye.left, begin.y * eye.scale + eye.top);
      for (let number = 1; number < points.length; number++) {
        path.lineTo(points[number]!.x * eye.scale + eye.left, points[number]!.y * eye.scale + eye.top);
      }
    }
    pen.lineWidth = Math.max(0.4, Math.min(1.4, 1.4 * eye.scale));
    for (const [stroke, path] of paths) {
      pen.strokeStyle = this.colour(stroke);
      pen.stroke(path);
    }
  }

  private name(pen: CanvasRenderingContext2D, each: Placed, eye: Eye): void {
    const [width, height] = [each.width * eye.scale, each.height * eye.scale];
    if (width < NAMED || height < 14) return;
    pen.font = "600 11px system-ui, sans-serif";
    pen.fillStyle = this.colour("--ink");
    const text = each.item.operator?.name.split(".").pop() ?? each.item.box!.label;
    const most = Math.floor((width - 6) / 6.5);
    const shown = text.length > most ? `${text.slice(0, most - 1)}…` : text;
    pen.fillText(shown, each.x * eye.scale + eye.left + 3, each.y * eye.scale + eye.top + 11);
  }

  private colour(name: string): string {
    let known = this.colours.get(name);
    if (known === undefined) this.colours.set(name, (known = getComputedStyle(document.documentElement).getPropertyValue(name)));
    return known;
  }
}
