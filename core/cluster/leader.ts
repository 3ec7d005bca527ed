import type { JsonObject } from "../json.ts";
import type { Clock } from "../ports/clock.ts";
import type { K8s } from "../ports/k8s.ts";
import type { Log } from "../ports/log.ts";
import { MANAGED_LABEL } from "./allowed_object.ts";
import { at } from "./live.ts";

/** The lease is renewed this often, and runs out this long after a renewal (operations.md, Leader). */
export const RENEW_MS = 15_000;
const LEASE_MS = 60_000;
/** A holder stops leading so long before its lease runs out for the others. */
const MARGIN_MS = 10_000;

const NAMESPACE = "pbx-system";
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  resource: "leases",
  namespace: NAMESPACE,
  name: "pbx-agent-leader",
} as const;

const MANAGED = { [MANAGED_LABEL]: "true" };
const NAMESPACE_REF = { apiVersion: "v1", resource: "namespaces", name: NAMESPACE } as const;
const NAMESPACE_OBJECT = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: NAMESPACE, labels: MANAGED },
} as const;

/** Whether this node's agent leads, where the cluster has more than one server. */
export interface Leader {
  /** Leads now: the lease is held, and has not run out by the local monotonic clock. */
  leads(): boolean;
  /** Renews the lease, or tries to get it. Called every {@link RENEW_MS}. */
  renew(): Promise<void>;
}

/** What a leader is made of. */
export interface LeaderParts {
  readonly k8s: K8s;
  readonly clock: Clock;
  readonly log: Log;
  /** Unique in the cluster: the node's name. */
  readonly holder: string;
  /** Why the agent may not act on this cluster; null where it may. Asked before each renewal. */
  whyNot(): Promise<string | null>;
}

/**
 * Leader election by a Lease. Only the local monotonic clock counts: how long ago somebody renewed is
 * measured from when this node saw the lease change, never from the times that are written in it.
 */
export function createLeader({ k8s, clock, log, holder, whyNot }: LeaderParts): Leader {
  let leadsUntil = Number.NEGATIVE_INFINITY;
  let seen = { version: "", at: Number.NEGATIVE_INFINITY };

  const leads = () => clock.monotonic() < leadsUntil;

  function held(since: number): void {
    if (!leads()) log.write("info", "leading", "this node's agent leads the cluster now");
    leadsUntil = since + LEASE_MS - MARGIN_MS;
  }

  function lost(why: string): void {
    if (leads()) log.write("warn", "leading_ended", `this node's agent leads no longer: ${why}`);
    leadsUntil = Number.NEGATIVE_INFINITY;
  }

  /** Writes the lease as it should be; `live`: as it is, or null to create it. */
  async function take(live: JsonObject | null, since: number): Promise<void> {
    const lease = leaseObject(live, holder, clock.now());
    const written = live === null ? await k8s.create(LEASE, lease) : await k8s.apply(LEASE, lease);
    if (written.ok) return held(since);
    if (written.error.code === "refused" && written.error.status === 409) {
      return lost("another node was faster");
    }
    if (written.error.code === "refused" && written.error.status === 404 && live === null) {
      const made = await k8s.apply(NAMESPACE_REF, NAMESPACE_OBJECT);
      if (made.ok && (await k8s.create(LEASE, lease)).ok) held(since);
    }
  }

  /** Nobody can have led where not even the namespace is there. */
  async function isFirst(): Promise<boolean> {
    const namespace = await k8s.get(NAMESPACE_REF);
    return namespace.ok && namespace.value === null;
  }

  function isFree(lease: JsonObject): boolean {
    const other = at(lease, "spec", "holderIdentity");
    return other === holder || other === undefined || other === "";
  }

  return {
    leads,
    async renew() {
      // The lease is counted from before the request: it can only be shorter for us than for the others.
      const since = clock.monotonic();
      const why = await whyNot();
      if (why !== null) return lost(why);
      const live = await k8s.get(LEASE);
      // Whoever cannot renew goes on only until the lease runs out by the own clock.
      if (!live.ok) return;
      const lease = live.value;
      if (lease === null ? leads() || await isFirst() : isFree(lease)) {
        return await take(lease, since);
      }
      if (lease !== null) lost(`${at(lease, "spec", "holderIdentity")} holds the lease`);
      // Of a lease that was deleted, whoever held it may still live: it counts as one that was renewed.
      const version = lease === null ? "none" : String(at(lease, "metadata", "resourceVersion"));
      if (version !== seen.version) {
        seen = { version, at: clock.monotonic() };
      } else if (clock.monotonic() - seen.at >= LEASE_MS) {
        await take(lease, since);
      }
    },
  };
}

/** Who holds the lease, as the API shows it; null where it does not tell or nobody does. */
export async function readLeaseHolder(k8s: K8s): Promise<string | null> {
  const lease = await k8s.get(LEASE);
  const holder = lease.ok ? at(lease.value ?? undefined, "spec", "holderIdentity") : undefined;
  return typeof holder === "string" && holder !== "" ? holder : null;
}

/** With the resourceVersion of the lease that was read: of two that try, one is refused. */
function leaseObject(live: JsonObject | null, holder: string, now: number): JsonObject {
  const time = microTime(now);
  const before = at(live ?? undefined, "spec", "holderIdentity");
  const transitions = at(live ?? undefined, "spec", "leaseTransitions");
  const count = typeof transitions === "number" ? transitions : 0;
  const acquired = at(live ?? undefined, "spec", "acquireTime");
  const version = at(live ?? undefined, "metadata", "resourceVersion");
  const uid = at(live ?? undefined, "metadata", "uid");
  return {
    apiVersion: LEASE.apiVersion,
    kind: "Lease",
    metadata: {
      name: LEASE.name,
      namespace: NAMESPACE,
      labels: MANAGED,
      ...(version === undefined ? {} : { resourceVersion: version }),
      // Without it, an apply would make a lease anew that was deleted meanwhile (kubernetes facts).
      ...(uid === undefined ? {} : { uid }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: LEASE_MS / 1000,
      acquireTime: before === holder && acquired !== undefined ? acquired : time,
      renewTime: time,
      leaseTransitions: before === holder || live === null ? count : count + 1,
    },
  };
}

/** Kubernetes' MicroTime: six digits, or the API refuses it (kubernetes facts). */
function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}
