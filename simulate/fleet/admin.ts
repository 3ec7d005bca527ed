import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { NodeName } from "../node/node_name.ts";

/** The admin API of the fake portal, as far as a fleet needs it. Everything rejects with what was wrong. */
export interface PortalAdmin {
  /** An enrollment token; cluster and node are made where they are new. */
  token(name: Omit<NodeName, "token">): Promise<string>;
  /** Queues an operation for the cluster's first node. */
  queue(clusterId: string, operation: JsonObject): Promise<void>;
  /** A merge patch onto the cluster's desired state. */
  change(clusterId: string, patch: JsonObject): Promise<void>;
  /** A release with this payload, signed with the lab's keys. */
  release(version: string, payload: JsonValue): Promise<void>;
}

/** @param origin `http://127.0.0.1:PORT`, as `deno task portal` prints it */
export function createPortalAdmin(origin: string): PortalAdmin {
  async function call(method: string, path: string, body: JsonObject): Promise<JsonObject> {
    let text: string;
    let response: Response;
    try {
      response = await fetch(`${origin}${path}`, { method, body: JSON.stringify(body) });
      text = await response.text();
    } catch (cause) {
      throw new Error(`the admin API at ${origin} does not answer`, { cause });
    }
    if (!response.ok) {
      throw new Error(`the admin API: ${method} ${path}: ${response.status} ${text}`);
    }
    const answer: JsonValue = JSON.parse(text);
    if (!isJsonObject(answer)) throw new Error(`the admin API: ${method} ${path}: no JSON object`);
    return answer;
  }

  return {
    async token({ clusterId, nodeName, serverId }) {
      const body = { cluster_id: clusterId, node_name: nodeName, server_id: serverId };
      const { token } = await call("POST", "/admin/tokens", body);
      if (typeof token !== "string") throw new Error("the admin API gave no token");
      return token;
    },
    async queue(clusterId, operation) {
      await call("POST", `/admin/clusters/${clusterId}/operations`, operation);
    },
    async change(clusterId, patch) {
      await call("PATCH", `/admin/clusters/${clusterId}/desired`, patch);
    },
    async release(version, payload) {
      await call("PUT", `/admin/releases/${version}`, { payload });
    },
  };
}
