// The compile view: a spec, what every stage of the compiler decided of it, and what a change of it would do.

import "./compile.css";
import { GraphCanvas } from "../canvas";
import { el } from "../dom";
import { Layouter } from "../layout";
import { Model, type Item } from "../model";
import { Panel } from "../panel";
import { RefusedError, ServerSource } from "../source";
import type { SubjectKind } from "../types";
import { ControlPanel, nothing } from "./controls";
import { findings, outcome } from "./outcomes";
import * as plans from "./plans";
import { Stages } from "./stages";
import type { Choices, Plan } from "./types";

const FIRST_STAGE = "fusion_plan";

class CompilePage {
  private readonly source = new ServerSource();
  private readonly layouter = new Layouter(() => this.source.worker());
  private readonly canvas: GraphCanvas;
  private readonly panel: Panel;
  private readonly controls = new ControlPanel((choices) => void this.compile(choices));
  private readonly stages = new Stages((stage) => void this.showStage(stage));
  private readonly picker = el("select", { "aria-label": "Spec or application", id: "spec" }) as HTMLSelectElement;
  private readonly note = el("p", { class: "note", role: "status" });
  private readonly problems = el("div", { class: "problems", role: "alert", hidden: "" });
  private readonly comparison = el("div", {});
  private readonly redeploy = el("div", {});
  private readonly graph = el("section", { class: "graph-view", "aria-label": "Graph" });

  private specs: string[] = [];
  private plan: Plan | null = null;
  /** The choices of the last plan without errors. */
  private good: Choices | null = null;
  private stage = FIRST_STAGE;
  private model: Model | null = null;
  private open = new Set<string>();
  private asked = 0;
  private drawing = 0;

  constructor() {
    this.canvas = new GraphCanvas({
      select: (item) => this.chooseItem(item),
      selectStream: (stream) => this.choose("stream", stream),
      toggle: (item) => void this.toggle(item),
    });
    this.panel = new Panel({
      subject: (_application, kind, name) => plans.subject(this.plan!.plan!, kind, name),
      history: () => Promise.resolve(null),
      sample: () => Promise.resolve(null),
    }, (kind, name) => this.choose(kind, name), () => this.canvas.select(""));
    this.build();
  }

  private build(): void {
    this.picker.addEventListener("change", () => void this.show(this.picker.value));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.panel.element.hidden) this.panel.hide();
    });
    const header = el("header", {}, el("h1", {}, "Streams"), this.picker,
      el("nav", { "aria-label": "Pages" }, el("a", { href: "/", class: "page" }, "What runs"), el("a", { href: "/compile", class: "page", "aria-current": "page" }, "Plans")));
    this.graph.append(this.canvas.element);
    const plan = el("div", { class: "plan" }, this.problems, this.comparison, this.redeploy,
      el("h2", {}, "Stages"), this.stages.element, el("h2", { id: "drawn" }, "Graph"), this.graph);
    document.getElementById("console")!.append(header, this.note, el("main", { class: "compile" }, this.controls.element, plan, this.panel.element));
  }

  async start(): Promise<void> {
    await this.source.begin();
    const { specs, applications } = await plans.listed();
    this.specs = specs;
    for (const each of specs) this.picker.append(el("option", { value: each }, each));
    for (const each of applications) this.picker.append(el("option", { value: `deployed:${each}` }, `${each} (deployed)`));
    const wanted = new URLSearchParams(location.search).get("application");
    const first = wanted && applications.includes(wanted) ? `deployed:${wanted}` : this.picker.options[0]?.value;
    if (first) await this.show(first);
    else this.note.textContent = "There is nothing to show. `streams console SPEC` shows how a spec is compiled.";
  }

  private async show(subject: string): Promise<void> {
    this.picker.value = subject;
    this.controls.clear();
    this.good = null;
    this.panel.hide();
    document.title = `${subject} · Streams console`;
    if (this.specs.includes(subject)) await this.compile(nothing());
    else await this.take(plans.deployed(subject.replace("deployed:", "")), null);
  }

  private async compile(choices: Choices): Promise<void> {
    this.controls.keep(choices);
    await this.take(plans.compiled(this.picker.value, choices, this.good), choices);
  }

  /** Show a plan when it is there, unless another one was asked for meanwhile. */
  private async take(promised: Promise<Plan>, choices: Choices | null): Promise<void> {
    const number = ++this.asked;
    this.note.textContent = "Compiling …";
    const plan = await promised.catch((error: Error) => error);
    if (number !== this.asked) return;
    this.note.textContent = "";
    document.body.dataset.compiled = String(number);
    if (plan instanceof Error) {
      this.problems.replaceChildren(el("p", { class: "trouble" }, plan.message));
      this.problems.hidden = false;
      return;
    }
    this.note.textContent = [
      ...(plan.notes ?? []),
      plan.spec === null ? `This is the plan that runs. \`streams console SPEC\` shows what a change of it would do.` : "",
    ].filter(Boolean).join(". ");
    this.problems.replaceChildren(findings(plan.diagnostics));
    this.problems.hidden = !plan.diagnostics.length;
    if (plan.controls) this.controls.show(plan.controls);
    if (!plan.stages || !plan.plan) return;
    this.plan = plan;
    this.good = choices;
    this.comparison.replaceChildren(outcome("Compared with the plan before", "comparison", plan.comparison));
    this.redeploy.replaceChildren(outcome(`A redeploy of ${plan.application}`, "redeploy", plan.redeploy));
    await this.showStage(this.stage);
  }

  private async showStage(stage: string): Promise<void> {
    const plan = this.plan!;
    this.stage = plan.stages!.some((each) => each.name === stage) ? stage : plan.stages!.at(-1)!.name;
    this.stages.show(plan.stages!, this.stage);
    document.getElementById("drawn")!.textContent = `Graph after ${this.stage.replaceAll("_", " ")}`;
    const graph = await plans.graph(plan.plan!, this.stage).catch((error: Error) => error);
    if (plan !== this.plan) return;
    if (graph instanceof Error) {
      this.note.textContent = graph.message;
      return;
    }
    this.model = new Model(graph);
    this.canvas.operatorName = (index) => graph.operators[index]?.name ?? "";
    this.canvas.peOf = (index) => graph.operators[index]?.pe ?? -1;
    this.open = this.model.openAtFirst();
    await this.draw();
    this.canvas.fit();
    document.body.dataset.stage = this.stage;
  }

  private async draw(): Promise<void> {
    const number = ++this.drawing;
    const layout = await this.layouter.layout(this.model!, this.open);
    if (number !== this.drawing) return;
    this.canvas.show(layout);
    this.canvas.update(null, "none");
  }

  private async toggle(item: Item): Promise<void> {
    if (this.open.has(item.id)) this.open.delete(item.id);
    else this.open.add(item.id);
    await this.draw();
    this.canvas.focus(item.id);
  }

  private chooseItem(item: Item): void {
    if (item.operator) this.choose("operator", item.operator.name);
    else if (item.box!.kind === "pe") this.choose("pe", String(item.box!.pe));
    else void this.toggle(item);
  }

  private choose(kind: SubjectKind, name: string): void {
    const item = this.model?.items.get(kind === "pe" ? `pe:${name}` : `op:${name}`);
    this.canvas.select(kind === "stream" ? "" : (item?.id ?? ""));
    void this.panel.show(this.plan!.plan!, kind, name, undefined, null);
  }
}

new CompilePage().start().catch((error: Error) => {
  const text = error instanceof RefusedError ? error.message : `The console cannot be read: ${error.message}`;
  document.querySelector(".note")!.textContent = text;
});
