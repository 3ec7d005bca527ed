import type { SyncRequest } from "../../core/protocol/sync.ts";

/** The line that the fake portal prints at its start. */
export interface Welcome {
  readonly url: string;
  readonly admin: string;
  readonly cluster: string;
  readonly node: string;
  readonly config_yaml: string;
}

/** The fake portal's admin API, as far as the demo needs it. */
export interface AdminClient {
  /** The node's last report, or null before its first sync. */
  report(): Promise<SyncRequest | null>;
  /** How many agents have enrolled. */
  agents(): Promise<number>;
  /** A merge patch to the desired state, sealed by the portal. */
  desire(patch: unknown): Promise<void>;
  /** From now on this merge patch spoils every answer to a sync on its way out. */
  spoil(patch: unknown): Promise<void>;
  /** Answers leave as they should again. */
  mend(): Promise<void>;
  /** A release like the first one, signed by a key that no agent knows. */
  signBadly(version: string): Promise<void>;
  outage(down: boolean): Promise<void>;
  /** Queues an operation for the node. */
  operate(id: string, kind: string, params: Record<string, unknown>): Promise<void>;
  /** What has come of an operation so far. */
  operation(id: string): Promise<Body>;
  /** The text that the owner signs for a queued operation, to begin before `expires`. */
  approvalText(id: string, expires: string): Promise<string>;
  /** Hands in the owner's signature of that text. */
  approve(id: string, expires: string, signature: string): Promise<void>;
}

// deno-lint-ignore no-explicit-any -- the admin API's answers are read by eye, not by schema
type Body = Record<string, any>;

/** The admin API of the portal that printed `welcome`, for its one cluster. */
export function openAdmin(welcome: Welcome): AdminClient {
  const desired = `/clusters/${welcome.cluster}/desired`;

  async function call(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await fetch(`${welcome.admin}/admin${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the portal refuses ${method} ${path}: ${text}`);
    return JSON.parse(text);
  }

  return {
    async report() {
      const { agents } = await call("GET", "/state");
      return (Object.values(agents)[0] as Body | undefined)?.["report"] ?? null;
    },
    async agents() {
      return Object.keys((await call("GET", "/state"))["agents"]).length;
    },
    async desire(patch) {
      await call("PATCH", desired, patch);
    },
    async spoil(patch) {
      const fault = { match: { path: "/sync" }, count: null, action: { merge: patch } };
      await call("POST", "/faults", fault);
    },
    async mend() {
      await call("DELETE", "/faults");
    },
    async signBadly(version) {
      const { releases } = await call("GET", "/state");
      const payload = { ...Object.values(releases as Body)[0].payload, version };
      await call("PUT", `/releases/${version}`, { payload, signed_by: ["stranger"] });
    },
    async outage(down) {
      await call("POST", "/outage", { down });
    },
    async operate(id, kind, params) {
      await call("POST", `/clusters/${welcome.cluster}/operations`, { id, kind, params });
    },
    operation: (id) => call("GET", `/clusters/${welcome.cluster}/operations/${id}`),
    async approvalText(id, expires) {
      const request = { operation: id, node: welcome.node, expires };
      const { texts } = await call("POST", `/clusters/${welcome.cluster}/approval-text`, request);
      return texts[0].text;
    },
    async approve(id, expires, signature) {
      const approvals = [{ node: welcome.node, expires, signature }];
      await call("POST", `/clusters/${welcome.cluster}/operations/${id}/approvals`, { approvals });
    },
  };
}
