// The sources of plans: the server compiles one, or reads it from the catalog.

import { read, send } from "../source";
import type { Graph, Subject, SubjectKind } from "../types";
import type { Choices, Plan } from "./types";

export interface Listed {
  specs: string[];
  applications: string[];
}

export const listed = (): Promise<Listed> => read("/api/plans");

export const deployed = (application: string): Promise<Plan> => read(`/api/applications/${encodeURIComponent(application)}/plan`);

export async function compiled(spec: string, choices: Choices, before: Choices | null): Promise<Plan> {
  const answer = await send("/api/plans", { spec, choices, before });
  const document = (await answer.json()) as Plan & { error?: string };
  if (!answer.ok) throw new Error(document.error ?? `The console answers ${answer.status}.`);
  return document;
}

export const graph = (plan: string, stage: string): Promise<Graph> => read(`/api/plans/${plan}/graph?stage=${stage}`);

export const subject = (plan: string, kind: SubjectKind, name: string): Promise<Subject> =>
  read(`/api/plans/${plan}/subject?kind=${kind}&name=${encodeURIComponent(name)}`);
