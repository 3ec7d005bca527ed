import type { FakeK8s } from "../../adapters/fake/k8s.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { LEASE } from "./host.ts";
import type { RestorePortal } from "./restore_portal.ts";
import type { ServersWorld } from "./world.ts";

/** How one server is at the end. */
export interface ServerEnd {
  readonly name: string;
  /** Its member of the etcd that it is up in; null where it is up in none. */
  readonly member: string | null;
  /** What its API shows of the customer's data; null where there is none. */
  readonly orders: string | null;
  readonly invoices: string | null;
  /** Its agent says that it leads. */
  readonly leads: boolean;
}

/** One thing that has to be so at the end. */
export interface Check {
  readonly name: string;
  readonly holds: boolean;
  /** What was found, for people. */
  readonly found: string;
}

/** Every server as its own API shows the cluster. */
export function serverEnds(world: ServersWorld, portal: RestorePortal): readonly ServerEnd[] {
  const leaders = portal.leaders();
  return world.servers.map(({ name }, number) => {
    const shown = world.etcd.shownBy(number);
    const isMember = shown !== null && shown === world.etcd.k8s;
    const member = [...world.etcd.members].find(([, server]) => server === number)?.[0];
    return {
      name,
      member: isMember ? member ?? null : null,
      orders: valueOf(shown, "orders"),
      invoices: valueOf(shown, "invoices"),
      leads: leaders.includes(name),
    };
  });
}

/** What has to be so after a restore. */
export function checkRestored(world: ServersWorld, portal: RestorePortal): readonly Check[] {
  const { etcd, servers } = world;
  const ends = serverEnds(world, portal);
  const operations = portal.operations();
  const wrong = operations.filter(({ id, result }) => result === null || portal.resultsOf(id) !== 1)
    .map(({ id }) => `${id} has ${portal.resultsOf(id)}`);
  const members = ends.filter(({ member }) => member !== null).length;
  const spec = etcd.k8s.read(LEASE)?.["spec"] as JsonObject | undefined;
  const holder = String(spec?.["holderIdentity"] ?? "nobody");
  const leaders = portal.leaders();
  const breaches = portal.breaches();
  const check = (name: string, holds: boolean, found: string): Check => ({ name, holds, found });
  return [
    check(
      "the data of the snapshot is on every server",
      ends.every(({ orders }) => orders === "first"),
      ends.map(({ name, orders }) => `${name} ${orders ?? "none"}`).join(", "),
    ),
    check(
      "what was written after the snapshot is gone",
      ends.every(({ invoices }) => invoices === null),
      ends.map(({ name, invoices }) => `${name} ${invoices ?? "none"}`).join(", "),
    ),
    check(
      `${servers.length} members, each of them up`,
      members === servers.length && etcd.members.size === servers.length,
      `${etcd.members.size} members, ${members} up`,
    ),
    check(
      "one leads, and holds the Lease",
      leaders.length === 1 && leaders[0] === holder,
      `${leaders.join(", ") || "nobody"} leads, the Lease is ${holder}'s`,
    ),
    check(
      "every operation has exactly one result",
      wrong.length === 0,
      wrong.length === 0 ? `${operations.length} operations` : wrong.join(", "),
    ),
    check(
      "the portal's rules refused nothing",
      breaches.length === 0,
      breaches[0] ?? "no agent broke one",
    ),
  ];
}

function valueOf(shown: FakeK8s | null, name: string): string | null {
  const data = shown?.read(`/api/v1/namespaces/default/configmaps/${name}`)?.["data"];
  return isJsonObject(data) ? String(data["value"]) : null;
}
