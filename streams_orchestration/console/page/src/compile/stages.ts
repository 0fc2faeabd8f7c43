// The stages side by side with their figures, and former figures that differ; the decisions of the chosen stage.

import { button, el, type Child } from "../dom";
import type { Fact, StagePlan } from "./types";

export class Stages {
  readonly element = el("div", { class: "stages", role: "group", "aria-label": "Stages" });
  readonly decisions = el("div", { class: "decisions" });

  constructor(private readonly choose: (stage: string) => void) {}

  show(stages: StagePlan[], chosen: string): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset.stage;
    this.element.replaceChildren(...stages.map((each, number) => this.stage(each, number + 1, each.name === chosen)));
    if (focused) (this.element.querySelector(`[data-stage="${focused}"]`) as HTMLElement | null)?.focus();
    const { name, decisions } = stages.find((each) => each.name === chosen)!;
    const parts = decisions.map((each) => el("section", {}, el("h3", {}, each.title), el("ul", {}, ...each.facts.map(fact))));
    const heading = el("h2", {}, `Decisions of the ${name.replaceAll("_", " ")}`);
    this.decisions.replaceChildren(...(parts.length ? [heading, el("div", { class: "columns" }, ...parts)] : []));
  }

  private stage(stage: StagePlan, number: number, chosen: boolean): HTMLElement {
    const title = button(`${number} ${stage.name.replaceAll("_", " ")}`, () => this.choose(stage.name), {
      "aria-pressed": String(chosen), "data-stage": stage.name,
    });
    const figures = el("dl", {});
    for (const each of stage.figures) {
      const value = each.before === null
        ? el("dd", {}, String(each.value))
        : el("dd", { class: "changed" }, el("del", {}, String(each.before)), " → ", el("ins", {}, String(each.value)));
      figures.append(el("dt", {}, each.name.replace(/\bpes\b/, "PEs")), value);
    }
    return el("section", { class: `stage${stage.figures.some((each) => each.before !== null) ? " differs" : ""}`, "aria-label": stage.name },
      title, el("p", {}, stage.description), figures);
  }
}

function fact(each: Fact): HTMLElement {
  const note = [each.rules.length ? `rule ${each.rules.join(", ")}` : "", each.location].filter(Boolean).join(" · ");
  return el("li", {}, each.text, (note && el("small", {}, ` ${note}`)) as Child);
}
