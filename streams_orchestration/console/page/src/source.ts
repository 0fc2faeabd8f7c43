// The source of documents: the server, or the file that `streams graph --format html` writes.

import type { Sampled } from "./sample";
import type { Graph, Series, Snapshot, Subject, SubjectKind, View } from "./types";

export interface Listed {
  name: string;
  state: string;
  deployed_at: number;
  pes: number;
  failed: string[];
}

export interface Source {
  /** True if values change; false for a file. */
  live: boolean;
  applications(): Promise<Listed[]>;
  graph(application: string, view: View): Promise<Graph>;
  subject(application: string, kind: SubjectKind, name: string): Promise<Subject>;
  history(application: string, name: string): Promise<Series | null>;
  /** Returns tuples of a stream; null if none pass. */
  sample(application: string, stream: string): Promise<Sampled | null>;
  listen(application: string, on: (snapshot: Snapshot) => void, trouble: (message: string) => void): () => void;
  worker(): Worker;
  /** True if the page may request changes. */
  mayAct: boolean;
  /** Resets a unit to its last complete epoch. */
  reset(application: string, unit: string): Promise<void>;
}

/** Milliseconds without an event after which a page is not live; the server sends a heartbeat every three seconds. */
const SILENT = 10_000;
/** The most milliseconds to wait for an answer. */
const PATIENCE = 60_000;
const AWAY = "The console does not answer; this page connects again by itself.";

export class RefusedError extends Error {}

export async function read<T>(path: string): Promise<T> {
  const answer = await fetch(path, { signal: AbortSignal.timeout(PATIENCE) }).catch(() => {
    throw new Error("The console does not answer.");
  });
  const document = (await answer.json()) as T & { error?: string };
  if (answer.status === 401) throw new RefusedError(document.error);
  if (!answer.ok) throw new Error(document.error ?? `The console answers ${answer.status}.`);
  return document;
}

export function send(path: string, document: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(document) });
}

export class ServerSource implements Source {
  readonly live = true;
  mayAct = false;

  /** Exchanges the token of the address, which the browser sends to nobody, for a session. */
  async begin(): Promise<void> {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token && (await send("/api/session", { token })).ok) {
      history.replaceState(null, "", location.pathname + location.search);
    }
    this.mayAct = (await read<{ allow_actions: boolean }>("/api/session")).allow_actions;
  }

  async reset(application: string, unit: string): Promise<void> {
    const answer = await send(`/api/applications/${encodeURIComponent(application)}/reset`, { unit });
    if (!answer.ok) throw new Error(((await answer.json()) as { error: string }).error);
  }

  applications(): Promise<Listed[]> {
    return read("/api/applications");
  }

  graph(application: string, view: View): Promise<Graph> {
    return read(`/api/applications/${encodeURIComponent(application)}/graph?view=${view}`);
  }

  subject(application: string, kind: SubjectKind, name: string): Promise<Subject> {
    return read(`/api/applications/${encodeURIComponent(application)}/subject?kind=${kind}&name=${encodeURIComponent(name)}`);
  }

  history(application: string, name: string): Promise<Series> {
    return read(`/api/applications/${encodeURIComponent(application)}/history?name=${encodeURIComponent(name)}`);
  }

  sample(application: string, stream: string): Promise<Sampled> {
    return read(`/api/applications/${encodeURIComponent(application)}/sample?stream=${encodeURIComponent(stream)}`);
  }

  listen(application: string, on: (snapshot: Snapshot) => void, trouble: (message: string) => void): () => void {
    let heard = 0;
    let stopped = false;
    let events: EventSource;
    const connect = (): void => {
      heard = Date.now();
      events = new EventSource(`/api/applications/${encodeURIComponent(application)}/events`);
      const take = (kind: string, act: (document: never) => void): void => events.addEventListener(kind, (event) => {
        if (stopped) return;
        heard = Date.now();
        act(JSON.parse((event as MessageEvent<string>).data) as never);
      });
      take("beat", () => undefined);
      take("snapshot", on);
      for (const kind of ["gone", "unreadable"]) take(kind, ({ message }: { message: string }) => trouble(message));
      events.onerror = () => trouble(AWAY);
    };
    // a connection over a lost network stays open, and the browser does not try a refused one again
    const again = (): void => {
      trouble(AWAY);
      events.close();
      connect();
    };
    connect();
    const watch = setInterval(() => Date.now() - heard > SILENT && again(), 1000);
    window.addEventListener("online", again);
    return () => {
      stopped = true;
      clearInterval(watch);
      window.removeEventListener("online", again);
      events.close();
    };
  }

  worker(): Worker {
    return new Worker("/static/elk-worker.min.js");
  }
}

interface Embedded {
  graphs: Record<View, Graph>;
  subjects: Record<string, Subject>;
}

export class FileSource implements Source {
  readonly live = false;
  readonly mayAct = false;

  constructor(private readonly document: Embedded) {}

  async applications(): Promise<Listed[]> {
    const name = this.document.graphs.physical.application;
    return [{ name, state: "", deployed_at: 0, pes: 0, failed: [] }];
  }

  async graph(_application: string, view: View): Promise<Graph> {
    return this.document.graphs[view];
  }

  async subject(_application: string, kind: SubjectKind, name: string): Promise<Subject> {
    return this.document.subjects[`${kind} ${name}`] ?? { kind, name };
  }

  async reset(): Promise<void> {}

  async history(): Promise<null> {
    return null;
  }

  async sample(): Promise<null> {
    return null;
  }

  listen(): () => void {
    return () => undefined;
  }

  worker(): Worker {
    const text = document.getElementById("layout-engine")!.textContent ?? "";
    return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }
}

export function sourceOfPage(): Source {
  const embedded = document.getElementById("embedded");
  return embedded ? new FileSource(JSON.parse(embedded.textContent ?? "{}") as Embedded) : new ServerSource();
}
