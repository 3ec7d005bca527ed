import { type Answer, refuse } from "../http/message.ts";
import { remember } from "../memory.ts";
import type { Call } from "./admin.ts";

/**
 * The cloud's metadata service for labs: the server ID of the first node, or the one that the path names.
 * It is no portal, so nothing of the protocol may be said to it (protocol §1).
 */
export function instanceId(call: Call): Answer {
  const names = [...call.request.headers.keys()].filter((name) => name.startsWith("pbx-"));
  if (names.length > 0) {
    remember(call.portal.memory.breaches, {
      at: call.portal.time(),
      rule: "headers_outside_base",
      message: `${names.join(", ")} sent to the metadata service`,
      path: call.request.target,
      agent: call.request.headers.get("pbx-agent") ?? null,
    });
  }
  const id = call.names[0] ?? firstServer(call);
  if (id === undefined) return refuse(404, "not_found", "there is no server");
  return {
    status: 200,
    headers: { "content-type": "text/plain" },
    body: new TextEncoder().encode(`${id}\n`),
  };
}

function firstServer(call: Call): string | undefined {
  const cluster = [...call.portal.state.clusters.values()][0];
  return cluster === undefined ? undefined : [...cluster.nodes.values()][0]?.serverId;
}
