import type { Answer } from "../../adapters/portal/http/message.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { Effect, NodeEvent } from "../node/node_event.ts";
import { HALF } from "../node/cluster.ts";
import { storedOperation } from "./stored_state.ts";
import type { Watched } from "./watched.ts";

/** Operations: one at a time, none twice, what destroys once, a success only where it is one. */
export function watchOperations({ timeline, portal, node, broken }: Watched) {
  const resets = new Map<string, number>();
  const seen = new Set<string>();
  /** The state that each ended with, as the portal took it; what the node has lost since is not in it. */
  const ended = new Map<string, string>();
  /** When each was taken in hand, since the node has lost its state. */
  const begun = new Map<string, number>();
  /** Files of snapshots, and when k3s took them. */
  const snapshots = new Map<string, number>();
  let running: string | null = null;

  const find = (id: string) => portal.portal.state.operations.find((one) => one.id === id);

  function began(id: string): void {
    if (find(id)?.offeredAt === undefined || find(id)?.offeredAt === null) {
      broken("only_what_was_offered", `operation ${id} begins and was not offered`);
    }
    if (running !== null && running !== id && find(running)?.result === null) {
      broken("one_operation_at_a_time", `${id} begins while ${running} has no result`);
    }
    if (ended.has(id)) broken("runs_once", `operation ${id} begins and has ended before`);
    running = id;
    begun.set(id, begun.get(id) ?? timeline.elapsed());
  }

  /** What an operation ended with is what it ends with whenever it is offered again. */
  function checkEnd(id: string): void {
    const operation = find(id);
    const state = operation?.result?.state;
    if (operation === undefined || state === undefined) return;
    const before = ended.get(id);
    if (before !== undefined && before !== state) {
      broken("runs_once", `operation ${id} ended as ${before}, and ends as ${state} now`);
    }
    ended.set(id, state);
    if (running === id) running = null;
    const { kind, params } = operation.offer as { kind?: unknown; params?: { name?: string } };
    if (kind !== "snapshot.save" || operation.result?.code !== "not_saved") return;
    const name = params?.name ?? `pbx-${id}`;
    const own = snapshotOf(name, id);
    if (own !== null) broken("no_snapshot_lost", `${id} says there is no ${name}: it is ${own}`);
  }

  /** A snapshot of a name that was taken since an operation began. */
  function snapshotOf(name: string, id: string): string | null {
    const since = begun.get(id) ?? Infinity;
    const own = [...snapshots].find(([file, at]) => file.startsWith(`${name}-`) && at >= since);
    return own === undefined ? null : own[0];
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
    if (kind !== "snapshot.save") return;
    if (!node.bucket.has(String(file))) {
      broken("success_is_proven", `snapshot ${String(file)} of ${id} is not in the bucket`);
    }
    // One that carries the operation's ID is its own, whenever it was taken.
    const isNamed = String(file).startsWith(`pbx-${id}-`);
    if (!isNamed && (snapshots.get(String(file)) ?? -1) < (begun.get(id) ?? 0)) {
      broken("success_is_proven", `snapshot ${String(file)} was taken before ${id} began`);
    }
  }

  return {
    onLog({ event, fields }: NodeEvent & { kind: "log" }): void {
      const id = String(fields["operation"]);
      if (event === "operation_taken" && fields["state"] === undefined) began(id);
    },
    onEffect(what: Effect, detail: string): void {
      if (what === "snapshot_taken") snapshots.set(detail, timeline.elapsed());
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
    /** What the node cannot know any more it may do again, but for what destroys. */
    onStateLost(): void {
      ended.clear();
      begun.clear();
      running = null;
    },
    onAnswer({ url }: HttpRequest, { status }: Answer): void {
      const id = status === 200 ? /\/operations\/([^/]+)\/events$/.exec(url)?.[1] : undefined;
      if (id === undefined) return;
      checkSuccess(id);
      checkEnd(id);
    },
  };
}
