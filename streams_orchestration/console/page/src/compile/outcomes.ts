// The differences between two plans, and the effects of a redeploy, in the words of the command line.

import { el, prose } from "../dom";
import type { Finding, Outcome } from "./types";

export function outcome(title: string, id: string, each: Outcome | undefined): HTMLElement {
  const made = el("section", { class: `outcome ${each?.verdict ?? ""}`, id, "aria-label": title });
  made.hidden = !each;
  if (!each) return made;
  made.append(el("h2", {}, title));
  if (each.error) made.append(el("p", { class: "trouble" }, each.error));
  if (each.diagnostics) made.append(findings(each.diagnostics));
  for (const sentence of each.sentences ?? []) made.append(el("p", { class: "sentence" }, ...prose(sentence)));
  if (each.changes?.length) made.append(table(null, each.changes));
  if (each.rows?.length) made.append(table(each.columns ?? null, each.rows));
  if (each.restarts?.length) made.append(table(null, each.restarts));
  return made;
}

function table(columns: string[] | null, rows: string[][]): HTMLElement {
  const head = columns && el("thead", {}, el("tr", {}, ...columns.map((text) => (text ? el("th", { scope: "col" }, text) : el("td", {})))));
  const body = el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((text) => el("td", {}, text)))));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, el("table", {}, head, body));
}

export function findings(all: Finding[]): HTMLElement {
  return el("ul", { class: "findings" }, ...all.map((each) =>
    el("li", { class: each.severity }, el("span", {}, ...prose(each.text)), el("small", {}, ...prose(each.remedy)))));
}
