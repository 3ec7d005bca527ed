import type { Answer } from "../../adapters/portal/http/message.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { Effect, NodeEvent } from "../node/node_event.ts";
import { HALF } from "../node/cluster.ts";
import { storedOperation, type Watched } from "./watched.ts";

/** Operations: one at a time, what destroys once, a success only where it is one. */
export function watchOperations({ portal, node, broken }: Watched) {
  const resets = new Map<string, number>();
  const seen = new Set<string>();
  let running: string | null = null;

  const find = (id: string) => portal.portal.state.operations.find((one) => one.id === id);

  function began(id: string): void {
    if (find(id)?.offeredAt === undefined || find(id)?.offeredAt === null) {
      broken("only_what_was_offered", `operation ${id} begins and was not offered`);
    }
    if (running !== null && running !== id && find(running)?.result === null) {
      broken("one_operation_at_a_time", `${id} begins while ${running} has no result`);
    }
    running = id;
  }

  /** A snapshot that is told of as saved is in the bucket; a restore was one whole reset. */
  function checkSuccess(id: string): void {
    const operation = find(id);
    if (operation?.result?.state !== "succeeded" || seen.has(id)) return;
    seen.add(id);
    const kind = (operation.offer as { readonly kind?: unknown }).kind;
    if (kind === "cluster.restore" && resets.get(id) !== 1) {
      broken("success_is_proven", `restore ${id} succeeded after ${resets.get(id) ?? 0} resets`);
    }
    const file = operation.result.output?.["file"];
    if (kind === "snapshot.save" && !node.bucket.has(String(file))) {
      broken("success_is_proven", `snapshot ${String(file)} of ${id} is not in the bucket`);
    }
  }

  return {
    onLog({ event, fields }: NodeEvent & { kind: "log" }): void {
      const id = String(fields["operation"]);
      if (event === "operation_taken" && fields["state"] === undefined) began(id);
    },
    onEffect(what: Effect, detail: string): void {
      if (what === "k3s_started" && detail === HALF) {
        broken("half_a_database_is_held", `k3s starts ${HALF}`);
      }
      if (what !== "reset_begun") return;
      // An agent that died once it had stored an operation never said that it took it.
      const stored = storedOperation(node);
      if (stored !== null && stored !== running) began(stored);
      if (running === null) return;
      const times = (resets.get(running) ?? 0) + 1;
      resets.set(running, times);
      if (times > 1) broken("destroys_once", `the reset of ${running} ran ${times} times`);
    },
    onAnswer({ url }: HttpRequest, { status }: Answer): void {
      const id = status === 200 ? /\/operations\/([^/]+)\/events$/.exec(url)?.[1] : undefined;
      if (id !== undefined) checkSuccess(id);
    },
  };
}
