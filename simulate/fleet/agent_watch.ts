import type { HttpRequest } from "../../core/ports/http.ts";
import type { NodeEvent } from "../node/node_event.ts";
import type { Recorder } from "../report/recorder.ts";
import type { AgentState } from "../report/report.ts";

/** What is known of one agent from outside: its state, and the operation that it carries out. */
export interface AgentWatch {
  /** What happens on its machine. */
  observe(event: NodeEvent): void;
  /** A request to the portal was answered with 2xx, or not. */
  answered(endpoint: string, succeeded: boolean): void;
  /** A request with events of an operation goes out. */
  reports(request: HttpRequest): void;
  state(): AgentState;
  /** The file of the newest snapshot that it told of, or null. */
  snapshot(): string | null;
}

/** Operations that an agent takes up are counted from its own reports; `kindOf` knows what they are. */
export interface AgentWatchOptions {
  readonly name: string;
  readonly recorder: Recorder;
  readonly monotonic: () => number;
}

/** Follows one agent, and tells the recorder. */
export function watchAgent({ name, recorder, monotonic }: AgentWatchOptions): AgentWatch {
  let state: AgentState = "waiting";
  /** What it is in when it runs and the last sync was answered. */
  let stage: AgentState = "enrolling";
  let isFailing = false;
  const operations = new Map<string, { readonly kind: string; readonly since: number }>();
  const ended = new Set<string>();
  let snapshot: string | null = null;
  recorder.move(null, state);

  function become(next: AgentState): void {
    if (next === state) return;
    recorder.move(state, next);
    state = next;
  }

  function settle(): void {
    become(isFailing && stage !== "idle" ? "failing" : stage);
  }

  function follow(event: Extract<NodeEvent, { kind: "log" }>): void {
    const to = event.fields["stage"];
    if (event.event !== "stage" || typeof to !== "string") return;
    stage = STAGES[to] ?? stage;
    settle();
  }

  return {
    state: () => state,
    snapshot: () => snapshot,
    observe(event) {
      switch (event.kind) {
        case "started":
          return settle();
        case "ended":
          if (/^(crashed|unusable)/.test(event.how)) {
            recorder.fault(name, event.how);
            return become("crashed");
          }
          return become("down");
        case "killed":
          return become("down");
        case "log":
          return follow(event);
        case "booted":
        case "request":
        case "effect":
          return;
      }
    },
    answered(endpoint, succeeded) {
      if (endpoint === "enroll" && succeeded) recorder.enrolled();
      if (endpoint !== "sync" && endpoint !== "enroll") return;
      isFailing = !succeeded;
      if (state !== "down" && state !== "crashed") settle();
    },
    reports({ url, body }) {
      const id = /\/operations\/([^/]+)\/events$/.exec(url)?.[1];
      if (id === undefined || body === undefined || ended.has(id)) return;
      const { result } = JSON.parse(new TextDecoder().decode(body)) as {
        result?: { state: string; output?: { file?: unknown } };
      };
      const known = operations.get(id);
      const kind = known?.kind ?? kindIn(id);
      if (known === undefined) {
        operations.set(id, { kind, since: monotonic() });
        recorder.operationBegan(kind);
      }
      if (result === undefined) return;
      operations.delete(id);
      if (typeof result.output?.file === "string") snapshot = result.output.file;
      ended.add(id);
      recorder.operationEnded(kind, result.state, monotonic() - (known?.since ?? monotonic()));
    },
  };
}

/** The states in the agent's life, as the report names them. */
const STAGES: Readonly<Record<string, AgentState>> = {
  unenrolled: "enrolling",
  enrolling: "enrolling",
  starting_k3s: "starting",
  syncing: "synced",
  revoked: "idle",
  refused: "idle",
  identity_unreadable: "idle",
};

/** The kind that the simulation put into an operation's ID; `unknown` for another's. */
function kindIn(id: string): string {
  return /^sim-([a-z0-9]+-[a-z0-9_]+)-/.exec(id)?.[1]?.replace("-", ".") ?? "unknown";
}
