// The compile view: a spec, the decisions of every stage of the compiler, and the effects of a change.

import "./compile.css";
import { choice, el, labelled, prose } from "../dom";
import type { Item } from "../model";
import { known, Panel } from "../panel";
import { RefusedError, ServerSource } from "../source";
import type { SubjectKind } from "../types";
import { GraphView } from "../view";
import { ControlPanel, nothing } from "./controls";
import { findings, outcome } from "./outcomes";
import * as plans from "./plans";
import { Stages } from "./stages";
import type { Choices, Plan } from "./types";

const FIRST_STAGE = "fusion_plan";

class CompilePage {
  private readonly source = new ServerSource();
  private readonly graph = new GraphView(
    () => this.source.worker(), { item: (item) => this.chooseItem(item), stream: (stream) => this.choose("stream", stream) });
  private readonly panel: Panel;
  private readonly controls = new ControlPanel((choices) => void this.compile(choices).then(() => this.lookAtOutcomes()));
  private readonly stages = new Stages((stage) => void this.showStage(stage));
  private readonly picker = choice("spec", []);
  private readonly subjects = el("span", { class: "applications" });
  private readonly note = el("p", { class: "note", role: "status" });
  private readonly problems = el("div", { class: "problems", role: "alert", hidden: "" });
  private readonly comparison = el("div", {});
  private readonly redeploy = el("div", {});
  private readonly outcomes = el("div", {}, this.problems, this.comparison, this.redeploy);
  private readonly running = el("a", { href: "/", class: "page" }, "Running");
  private readonly drawn = el("h2", { id: "drawn" }, "Graph");

  private specs: string[] = [];
  private plan: Plan | null = null;
  /** The choices of the last plan without errors. */
  private good: Choices | null = null;
  private stage = FIRST_STAGE;
  private asked = 0;
  private readonly stacked = matchMedia("(max-width: 760px)");

  constructor() {
    this.panel = new Panel({
      subject: (_application, kind, name) => plans.subject(this.plan!.plan!, kind, name),
      history: () => Promise.resolve(null),
      sample: () => Promise.resolve(null),
    }, (kind, name) => this.choose(kind, name), () => {
      void this.graph.select(undefined);
      this.graph.selectStream("");
      this.graph.canvas.selectRegion(-1);
    });
    this.build();
  }

  private build(): void {
    this.picker.addEventListener("change", () => void this.show(this.picker.value));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.panel.element.hidden) this.panel.hide();
    });
    const header = el("header", {}, el("h1", {}, "Streams"), this.subjects,
      el("nav", { "aria-label": "Pages" }, this.running, el("a", { href: "/compile", class: "page", "aria-current": "page" }, "Plans")));
    const plan = el("div", { class: "plan" }, this.outcomes,
      el("h2", {}, "Stages"), this.stages.element, this.drawn, this.graph.element, this.stages.decisions);
    const scroller = el("div", { class: "compiled" }, this.controls.element, plan);
    document.getElementById("console")!.append(header, this.note, el("main", { class: "compile" }, scroller, this.panel.element));
  }

  async start(): Promise<void> {
    await this.source.begin();
    const { specs, applications } = await plans.listed();
    this.specs = specs;
    for (const each of specs) this.picker.append(el("option", { value: each }, each));
    for (const each of applications) this.picker.append(el("option", { value: `deployed:${each}` }, `${each} (deployed)`));
    if (this.picker.options.length) this.subjects.append(this.picker.options.length > 1 ? labelled("Plan of", this.picker) : this.picker.options[0]!.text);
    const wanted = new URLSearchParams(location.search).get("application");
    if (wanted && applications.includes(wanted)) this.lead(wanted);
    const first = wanted && applications.includes(wanted) ? `deployed:${wanted}` : this.picker.options[0]?.value;
    if (first) await this.show(first);
    else this.note.replaceChildren(...(prose("Nothing is deployed here, and no spec was named. `streams console SPEC` shows how a spec is compiled.") as Node[]));
    document.querySelector("main")!.hidden = !first;
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

  /** Scrolls to the outcomes on a narrow page, where they are below the choices. */
  private lookAtOutcomes(): void {
    if (this.stacked.matches) this.outcomes.scrollIntoView({ block: "nearest" });
  }

  /** Lets *Running* lead back to the application that the user has seen last. */
  private lead(application: string): void {
    this.running.setAttribute("href", `/?application=${encodeURIComponent(application)}`);
  }

  /** Shows a plan when it has arrived, unless another one was requested meanwhile. */
  private async take(promised: Promise<Plan>, choices: Choices | null): Promise<void> {
    const number = ++this.asked;
    this.note.textContent = "Compiling…";
    const plan = await promised.catch((error: Error) => error);
    if (number !== this.asked) return;
    this.note.textContent = "";
    document.body.dataset.compiled = String(number);
    if (plan instanceof Error) {
      this.problems.replaceChildren(el("p", { class: "trouble" }, plan.message));
      this.problems.hidden = false;
      return;
    }
    const notes = [
      ...(plan.notes ?? []),
      plan.spec === null ? `This is the plan that runs. \`streams console SPEC\` shows how a change of the spec would change the plan.` : "",
    ];
    this.note.replaceChildren(...(prose(notes.filter(Boolean).join(". ")) as Node[]));
    this.problems.replaceChildren(findings(plan.diagnostics));
    this.problems.hidden = !plan.diagnostics.length;
    if (plan.controls) this.controls.show(plan.controls);
    if (!plan.stages || !plan.plan) return;
    this.plan = plan;
    this.good = choices;
    if (plan.deployed) this.lead(plan.application!);
    this.comparison.replaceChildren(outcome("Compared with the previous plan", "comparison", plan.comparison));
    this.redeploy.replaceChildren(outcome(`Redeploying ${plan.application}`, "redeploy", plan.redeploy));
    await this.showStage(this.stage);
  }

  private async showStage(stage: string): Promise<void> {
    const plan = this.plan!;
    this.stage = plan.stages!.some((each) => each.name === stage) ? stage : plan.stages!.at(-1)!.name;
    this.stages.show(plan.stages!, this.stage);
    this.drawn.textContent = `Graph after ${this.stage.replaceAll("_", " ")}`;
    const graph = await plans.graph(plan.plan!, this.stage).catch((error: Error) => error);
    if (plan !== this.plan) return;
    if (graph instanceof Error) {
      this.note.textContent = graph.message;
      return;
    }
    await this.graph.show(graph, false);
    document.body.dataset.stage = this.stage;
  }

  private chooseItem(item: Item): void {
    if (item.operator) this.choose("operator", item.operator.name);
    else if (item.box!.kind === "pe") this.choose("pe", String(item.box!.pe));
    else void this.graph.toggle(item);
  }

  private choose(kind: SubjectKind, name: string): void {
    const model = this.graph.model!;
    const item = model.items.get(kind === "pe" ? `pe:${name}` : `op:${name}`);
    const shown = kind === "operator" || kind === "pe" ? item : undefined;
    void this.graph.select(shown).then(() => this.graph.selectStream(kind === "stream" ? name : ""));
    this.graph.canvas.selectRegion(kind === "region" ? Number(name) : -1);
    void this.panel.show(this.plan!.plan!, kind, name, shown ? known(shown) : {}).then(() => {
      this.graph.element.scrollIntoView({ block: "nearest" });
    });
  }
}

new CompilePage().start().catch((error: Error) => {
  const text = error instanceof RefusedError ? error.message : `The console cannot be read: ${error.message}`;
  document.querySelector(".note")!.textContent = text;
});
