import type { JsonObject } from "../../core/json.ts";
import { nodeReady } from "../../core/cluster/kubernetes_facts.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8s, ObjectRef } from "../../core/ports/k8s.ts";
import { fail } from "../../core/result.ts";
import { type Host, LEASE, type SeenWrite } from "./host.ts";
import type { Generation } from "./generation.ts";

/** What a server's API is made of. */
export interface ServerApiParts {
  readonly clock: Clock;
  /** How long one way of a call takes, milliseconds. */
  readonly delay: () => number;
  readonly hosts: readonly Host[];
  readonly upIn: (server: number) => Generation | null;
  readonly writes: SeenWrite[];
  readonly breaches: string[];
}

/** How long a call takes that comes to nothing, milliseconds. */
const LOST_MS = 2_000;
const VERBS = ["get", "list", "create", "remove", "apply"];

/** The API of one server: that of the cluster which it is up in, some time away. */
export function k8sOf(server: number, parts: ServerApiParts): K8s {
  const { clock, delay, upIn } = parts;

  async function lost() {
    await clock.sleep(LOST_MS);
    return fail({ code: "unreachable", message: "the API is down" });
  }

  const call = (verb: string) => async (...args: unknown[]) => {
    await clock.sleep(delay());
    const there = upIn(server);
    if (there === null) return await lost();
    if (!["get", "list"].includes(verb)) note(server, there, { verb, args }, parts);
    const verbs = there.k8s as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const lives = verb === "remove" ? livingNode(there, args) : null;
    const answer = await verbs[verb]?.(...args);
    if (lives !== null && (answer as { readonly ok: boolean }).ok) {
      parts.breaches.push(`${parts.hosts[server]?.name} deleted Node ${lives}, which was Ready`);
    }
    await clock.sleep(delay());
    return upIn(server) === there ? answer : await lost();
  };

  return {
    ...Object.fromEntries(VERBS.map((verb) => [verb, call(verb)])),
    ready: async () => {
      await clock.sleep(delay());
      return upIn(server) !== null;
    },
  } as unknown as K8s;
}

/** The Node that is to be deleted, where it is Ready at this moment. */
function livingNode({ k8s }: Generation, args: readonly unknown[]): string | null {
  const [{ resource, name }] = args as readonly [ObjectRef];
  const node = resource === "nodes" ? k8s.read(`/api/v1/nodes/${name}`) : null;
  return node !== null && nodeReady(node) === true ? name : null;
}

function note(
  server: number,
  { k8s }: Generation,
  { verb, args }: { readonly verb: string; readonly args: readonly unknown[] },
  { hosts, writes }: ServerApiParts,
): void {
  const [{ resource, name }] = args as readonly [ObjectRef];
  // The election itself is everybody's.
  if (resource === "leases" || resource === "namespaces") return;
  const spec = k8s.read(LEASE)?.["spec"] as JsonObject | undefined;
  const holder = String(spec?.["holderIdentity"] ?? "");
  writes.push({ by: hosts[server]?.name ?? "", what: `${verb} ${resource}/${name}`, holder });
}
