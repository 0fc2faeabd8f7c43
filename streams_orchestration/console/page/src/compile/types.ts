// The documents of the compile view.

export interface Fact {
  text: string;
  rules: string[];
  location: string;
}

export interface StagePlan {
  name: string;
  description: string;
  reads: string[];
  figures: { name: string; value: number | string; before: number | string | null }[];
  decisions: { title: string; facts: Fact[] }[];
}

export interface Finding {
  severity: string;
  text: string;
  remedy: string;
}

export interface Option {
  name: string;
  label: string;
  value: string;
  choices: string[] | null;
  optional: boolean;
}

export interface Controls {
  set: { name: string; type: string; value: string; fixed: boolean }[];
  /** Null if the spec could not be compiled. */
  width: { name: string; value: string }[] | null;
  options: Option[];
  faithful: boolean;
}

export interface Outcome {
  error?: string;
  diagnostics?: Finding[];
  changes?: [string, string, string][];
  columns?: string[] | null;
  rows?: string[][];
  restarts?: [string, string][];
  sentences?: string[];
  verdict?: string | null;
}

export interface Plan {
  application: string | null;
  deployed: boolean;
  /** Null for a plan that was read from the catalog. */
  spec: string | null;
  notes?: string[];
  diagnostics: Finding[];
  controls?: Controls;
  stages?: StagePlan[];
  comparison?: Outcome;
  redeploy?: Outcome;
  /** The id by which the page requests the graph and details; null for a spec with errors. */
  plan: string | null;
}

/** The choices of a user; values without a choice stay as the spec has them. */
export interface Choices {
  set: Record<string, string>;
  width: Record<string, string>;
  options: Record<string, string>;
  faithful?: boolean;
}
