// A few tuples of a stream as a table. Values are shown as texts only, so that they cannot change the page.

import { count, el, seconds } from "./dom";

export interface Sampled {
  /** The time of the sample in unix seconds. */
  at: number;
  /** The reason why there is no newer sample, or none at all. */
  reason: string | null;
  sample: {
    attributes: { name: string; type: string; masked: boolean }[];
    rows: (string | null)[][];
    tuples: number;
    pe: number;
    batch: number;
    epoch: number;
    written_at: number;
  } | null;
}

export function sampleOf({ at, reason, sample }: Sampled): HTMLElement {
  const part = el("section", { class: "sample", "aria-label": "Sample" }, el("h3", {}, "Sample"));
  if (!sample) {
    part.append(el("p", {}, `${reason?.replace(/\.?$/, ".") ?? ""}`));
    return part;
  }
  const head = sample.attributes.map(({ name, type }) => el("th", { scope: "col" }, name, el("small", {}, ` ${type}`)));
  const cell = (value: string | null): HTMLElement => (value === null ? el("td", { class: "null" }, "null") : el("td", {}, el("div", {}, value)));
  const rows = sample.rows.map((row) => el("tr", {}, ...row.map(cell)));
  const shown = `${sample.rows.length} of ${count(sample.tuples)} ${sample.tuples === 1 ? "tuple" : "tuples"}`;
  part.append(
    el("p", {}, `${shown} of batch ${sample.batch} of PE ${sample.pe}, in epoch ${sample.epoch}, ${seconds(Math.max(0, at - sample.written_at))} ago`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tuples" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))),
  );
  return part;
}
