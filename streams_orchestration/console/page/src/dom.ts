// Elements, and numbers and times in words.

export type Child = Node | string | null | undefined | false;

export function el(tag: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) if (child) made.append(child);
  return made;
}

export function svg(tag: string, attributes: Record<string, string | number> = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  for (const child of children) if (child) made.append(child);
  return made;
}

export function button(text: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = el("button", { type: "button", ...attributes }, text) as HTMLButtonElement;
  made.addEventListener("click", act);
  return made;
}

/** Returns a control with its name beside it. */
export function labelled(text: string, control: HTMLElement, attributes: Record<string, string> = {}): HTMLElement {
  return el("label", { class: "field", ...attributes }, el("span", {}, text), control);
}

export function choice(id: string, options: readonly (readonly [value: string, text: string])[]): HTMLSelectElement {
  const made = el("select", { id }) as HTMLSelectElement;
  for (const [value, text] of options) made.append(el("option", { value }, text));
  return made;
}

/** Returns a text of the server or the page as elements; words in backticks are commands or names. */
export function prose(text: string): Child[] {
  return text.split("`").map((part, number) => (number % 2 ? el("code", {}, part) : part));
}

/** The keys of the texts that are unfolded. They stay unfolded when the page is drawn again. */
const unfolded = new Set<string>();

/** Returns the first line of a long text, which unfolds the whole text and its further parts. */
export function folded(key: string, text: string, ...more: Child[]): HTMLElement {
  const made = el("details", { class: "folded" }, el("summary", {}, el("span", {}, ...prose(text))), ...more) as HTMLDetailsElement;
  made.open = unfolded.has(key);
  made.addEventListener("toggle", () => (made.open ? unfolded.add(key) : unfolded.delete(key)));
  return made;
}

export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(0)} k`;
  if (size >= 1e3) return `${(value / 1e3).toFixed(1)} k`;
  return size >= 10 || size === 0 ? value.toFixed(0) : value.toFixed(1);
}

/** Returns a number of things, which has no fraction, as text. */
export function count(value: number): string {
  return value < 1e3 ? String(value) : short(value);
}

export function rate(value: number): string {
  return `${short(value)}/s`;
}

/** Returns a share of a processor as text. */
export function percent(value: number): string {
  const share = value * 100;
  if (share === 0 || share >= 10) return `${share.toFixed(0)} %`;
  return share >= 0.1 ? `${share.toFixed(1)} %` : share >= 0.01 ? `${share.toFixed(2)} %` : "< 0.01 %";
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 ** 2) return `${(value / 1024).toFixed(1)} KiB`;
  return value < 1024 ** 3 ? `${(value / 1024 ** 2).toFixed(1)} MiB` : `${(value / 1024 ** 3).toFixed(1)} GiB`;
}

export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)}\u00a0s`;
  if (value < 90) return `${value.toFixed(0)}\u00a0s`;
  if (value < 5400) return `${(value / 60).toFixed(0)}\u00a0min`;
  return value < 172800 ? `${(value / 3600).toFixed(1)}\u00a0h` : `${(value / 86400).toFixed(1)}\u00a0d`;
}

export function clock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour12: false });
}
