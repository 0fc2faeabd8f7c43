// The options of a compilation that a user can choose: values, widths, options.

import { button, el, labelled } from "../dom";
import type { Choices, Controls } from "./types";

export class ControlPanel {
  readonly element = el("form", { class: "choices", "aria-label": "Options of the compilation" }) as HTMLFormElement;
  private choices: Choices = nothing();
  /** The values before the user has chosen anything. */
  private written: Controls | null = null;
  private widths: { name: string; value: string }[] = [];
  private readonly undo = button("Undo all changes", () => {
    this.clear();
    this.changed(nothing());
  }, { id: "undo" });

  constructor(private readonly changed: (choices: Choices) => void) {
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("change", (event) => this.commit(event.target as HTMLInputElement));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target instanceof HTMLInputElement) this.commit(event.target);
    });
  }

  /** Drops the choices and the inputs, for another spec. */
  clear(): void {
    this.choices = nothing();
    this.written = null;
    this.widths = [];
    this.element.replaceChildren();
  }

  /** Shows the compiled values; creates the inputs again if their names have changed. */
  show(controls: Controls): void {
    this.widths = controls.width ?? this.widths;
    this.written ??= controls;
    const names = JSON.stringify([controls.set, this.widths].map((each) => each.map((one) => one.name)));
    if (this.element.dataset.names === names && this.element.children.length) {
      this.fill(controls);
      return;
    }
    this.element.dataset.names = names;
    this.element.replaceChildren(...this.parts(controls));
  }

  private parts(controls: Controls): HTMLElement[] {
    const parts: HTMLElement[] = [];
    if (this.widths.length) {
      parts.push(group("Widths", this.widths.map((each) => labelled(each.name, number(`width:${each.name}`, each.value, "1", "1")))));
    }
    if (controls.set.length) {
      parts.push(group("Submission-time values", controls.set.map((each) => labelled(`${each.name} (${each.type})`, value(each)))));
    }
    parts.push(group("Options", [
      ...controls.options.map((each) => labelled(each.label, each.choices
        ? choice(`option:${each.name}`, each.choices, each.value, each.optional)
        : number(`option:${each.name}`, each.value, each.name === "pes" ? "1" : "0", each.name === "pes" ? "1" : "any"))),
      labelled("Plan exactly as IBM Streams", tick("faithful", controls.faithful)),
    ]));
    return [...parts, this.undo];
  }

  private fill(controls: Controls): void {
    const put = (name: string, text: string): void => {
      const input = this.element.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement | null;
      if (input && input !== document.activeElement) input.value = text;
    };
    for (const each of this.widths) put(`width:${each.name}`, each.value);
    for (const each of controls.set) put(`set:${each.name}`, each.value);
    for (const each of controls.options) put(`option:${each.name}`, each.value);
  }

  /** Adds the value of an input to the choices; drops it if it is the value of the spec, or an empty width. */
  private commit(input: HTMLInputElement | HTMLSelectElement): void {
    const [kind, name] = [input.name.split(":")[0]!, input.name.slice(input.name.indexOf(":") + 1)];
    const next = structuredClone(this.choices);
    const put = (values: Record<string, string>, written: string): void => {
      if (input.value === written) delete values[name];
      else values[name] = input.value;
    };
    if (kind === "width") put(next.width, "");
    if (kind === "set") put(next.set, this.written!.set.find((each) => each.name === name)!.value);
    if (kind === "option") put(next.options, this.written!.options.find((each) => each.name === name)!.value);
    if (kind === "faithful") next.faithful = (input as HTMLInputElement).checked;
    if (JSON.stringify(next) !== JSON.stringify(this.choices)) this.changed(next);
  }

  /** Keeps the choices of the last compilation, also of one with errors. */
  keep(choices: Choices): void {
    this.choices = choices;
    this.undo.hidden = JSON.stringify(choices) === JSON.stringify(nothing());
  }
}

export function nothing(): Choices {
  return { set: {}, width: {}, options: {} };
}

function group(title: string, fields: HTMLElement[]): HTMLElement {
  return el("fieldset", {}, el("legend", {}, title), ...fields);
}

function number(name: string, text: string, min: string, step: string): HTMLElement {
  return el("input", { type: "number", name, value: text, min, step, placeholder: "not set" });
}

function value(each: Controls["set"][number]): HTMLElement {
  if (each.type === "boolean") return choice(`set:${each.name}`, ["true", "false"], each.value, each.value === "");
  const fixed: Record<string, string> = each.fixed ? { readonly: "", title: `A text: set it where the console is started, by --set ${each.name}=VALUE` } : {};
  return el("input", { type: "text", name: `set:${each.name}`, value: each.value, autocomplete: "off", ...fixed });
}

function choice(name: string, choices: string[], text: string, optional: boolean): HTMLElement {
  const made = el("select", { name }) as HTMLSelectElement;
  if (optional) made.append(el("option", { value: "" }, "as annotated"));
  for (const each of choices) made.append(el("option", { value: each }, each));
  made.value = text;
  return made;
}

function tick(name: string, on: boolean): HTMLElement {
  const made = el("input", { type: "checkbox", name }) as HTMLInputElement;
  made.checked = on;
  return made;
}
