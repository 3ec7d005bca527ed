import type { Agent, PortalState, QueuedOperation } from "./state.ts";

/**
 * Ways into the state that do not walk through all of it, for portals of tens of thousands of nodes. The
 * state alone counts: what was added to it since is taken up with the next question.
 */
export interface Lookup {
  operation(id: string): QueuedOperation | null;
  /** In the order in which they were queued. */
  operationsOf(clusterId: string): readonly QueuedOperation[];
  /** The agent that is a cluster's node now; a revoked one is not. */
  activeAgent(clusterId: string, nodeName: string): Agent | null;
  /** Who was the first to have this signing key, or null. */
  keyOwner(signing: string): Agent | null;
  /** An agent was added, or has another key. */
  note(agent: Agent): void;
  /** What `make` gives for a document, made once for as long as the document is in use. */
  of<T>(document: unknown, name: string, make: () => T): T;
}

/** A lookup of a state, empty until it is asked. */
export function createLookup(state: PortalState): Lookup {
  let operations = new Map<string, QueuedOperation>();
  let byCluster = new Map<string, QueuedOperation[]>();
  let seen: { count: number; last: QueuedOperation | undefined } = { count: 0, last: undefined };
  const agents = new Set<Agent>();
  const byNode = new Map<string, Agent[]>();
  const byKey = new Map<string, Agent>();
  const made = new WeakMap<object, Map<string, unknown>>();

  /** Operations are appended; whatever else was done to their list, it is read anew. */
  function upToDate(): void {
    const all = state.operations;
    if (all.length === seen.count && all.at(-1) === seen.last) return;
    if (all.length < seen.count || all[seen.count - 1] !== seen.last) {
      operations = new Map();
      byCluster = new Map();
      seen = { count: 0, last: undefined };
    }
    for (const operation of all.slice(seen.count)) {
      if (!operations.has(operation.id)) operations.set(operation.id, operation);
      const own = byCluster.get(operation.clusterId);
      if (own === undefined) byCluster.set(operation.clusterId, [operation]);
      else own.push(operation);
    }
    seen = { count: all.length, last: all.at(-1) };
  }

  function note(agent: Agent): void {
    if (!agents.has(agent)) {
      agents.add(agent);
      const node = `${agent.clusterId} ${agent.nodeName}`;
      const there = byNode.get(node);
      if (there === undefined) byNode.set(node, [agent]);
      else there.push(agent);
    }
    for (const key of keysOf(agent)) if (!byKey.has(key)) byKey.set(key, agent);
  }

  function allAgents(): void {
    if (agents.size < state.agents.size) { for (const agent of state.agents.values()) note(agent); }
  }

  return {
    note,
    operation(id) {
      upToDate();
      return operations.get(id) ?? null;
    },
    operationsOf(clusterId) {
      upToDate();
      return byCluster.get(clusterId) ?? [];
    },
    activeAgent(clusterId, nodeName) {
      allAgents();
      return byNode.get(`${clusterId} ${nodeName}`)?.find(({ revoked }) => !revoked) ?? null;
    },
    keyOwner(signing) {
      allAgents();
      return byKey.get(signing) ?? null;
    },
    of<T>(document: unknown, name: string, make: () => T): T {
      if (typeof document !== "object" || document === null) return make();
      let known = made.get(document);
      if (known === undefined) made.set(document, known = new Map());
      if (!known.has(name)) known.set(name, make());
      return known.get(name) as T;
    },
  };
}

function keysOf({ keys, previous, retired }: Agent): readonly string[] {
  return [keys.signing, ...(previous === null ? [] : [previous.signing]), ...retired];
}
