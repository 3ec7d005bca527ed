import type { FakePeer } from "../../../adapters/fake/http.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";

/** An operation for one server. */
export interface Offered {
  readonly id: string;
  readonly kind: string;
  readonly params: JsonObject;
  readonly server: string;
  result: OperationResult | null;
}

/** As much of a portal as three settled agents need: it offers operations and takes reports. */
export interface SmallPortal {
  readonly offered: Offered[];
  offer(server: string, kind: string, params?: JsonObject): void;
  /** Whether a server has an operation without a result. */
  isBusy(server: string): boolean;
  /** The newest report of a server that says it leads; by server. */
  readonly leads: Map<string, boolean>;
  peer(server: string): FakePeer;
}

/** @param isDown whether it can be reached now */
export function createSmallPortal(clock: Clock, isDown: () => boolean): SmallPortal {
  const offered: Offered[] = [];
  const leads = new Map<string, boolean>();
  const openOf = (server: string) =>
    offered.find((each) => each.server === server && each.result === null);

  function answer(server: string, path: string, body: JsonObject): JsonObject {
    if (path.endsWith("/sync")) {
      leads.set(server, (body["node"] as JsonObject)["leader"] === true);
      const open = openOf(server);
      const operation = open === undefined
        ? null
        : { id: open.id, kind: open.kind, params: open.params };
      const time = new Date(clock.now()).toISOString();
      return { time, desired: null, desired_tag: null, operation };
    }
    const id = path.split("/").at(-2);
    const events = body["events"] as readonly { readonly seq: number }[];
    const operation = offered.find((each) => each.id === id);
    if (operation !== undefined && body["result"] !== undefined) {
      operation.result = body["result"] as unknown as OperationResult;
    }
    return { acked: events.at(-1)?.seq ?? 0 };
  }

  return {
    offered,
    leads,
    isBusy: (server) => openOf(server) !== undefined,
    offer(server, kind, params = {}) {
      offered.push({ id: `op-${offered.length + 1}`, kind, params, server, result: null });
    },
    peer: (server) => (request) => {
      if (isDown()) return { error: "connect" };
      const body = JSON.parse(new TextDecoder().decode(request.body));
      const path = new URL(request.url).pathname;
      return {
        status: 200,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(answer(server, path, body)),
      };
    },
  };
}
