// The stages side by side: figures, those before where they were others, and decisions with their rules.

import { button, el, type Child } from "../dom";
import type { Fact, StagePlan } from "./types";

/** Decisions of a stage that are unfolded at first. */
const UNFOLDED = 3;

export class Stages {
  readonly element = el("div", { class: "stages", role: "group", "aria-label": "Stages", tabindex: "0" });

  constructor(private readonly choose: (stage: string) => void) {}

  show(stages: StagePlan[], chosen: string): void {
    const left = this.element.scrollLeft;
    this.element.replaceChildren(...stages.map((each, number) => this.stage(each, number + 1, each.name === chosen)));
    this.element.scrollLeft = left;
  }

  private stage(stage: StagePlan, number: number, chosen: boolean): HTMLElement {
    const title = button(`${number} ${stage.name.replaceAll("_", " ")}`, () => this.choose(stage.name), {
      "aria-pressed": String(chosen), "data-stage": stage.name, title: `Draw the graph after ${stage.name}`,
    });
    const figures = el("dl", {});
    for (const each of stage.figures) {
      const value = each.before === null
        ? el("dd", {}, String(each.value))
        : el("dd", { class: "changed" }, el("del", {}, String(each.before)), " → ", el("ins", {}, String(each.value)));
      figures.append(el("dt", {}, each.name), value);
    }
    const decisions = stage.decisions.map((each, index) => {
      const made = el("details", {}, el("summary", {}, each.title), el("ul", {}, ...each.facts.map(fact)));
      if (index < UNFOLDED) made.setAttribute("open", "");
      return made;
    });
    return el("section", { class: `stage${stage.figures.some((each) => each.before !== null) ? " differs" : ""}`, "aria-label": stage.name },
      title, el("p", {}, stage.description), figures, ...decisions);
  }
}

export function fact(each: Fact): HTMLElement {
  const note = [each.rules.length ? `rule ${each.rules.join(", ")}` : "", each.location].filter(Boolean).join(" · ");
  return el("li", {}, each.text, (note && el("small", {}, ` ${note}`)) as Child);
}
