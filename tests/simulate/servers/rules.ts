import type { AgentsWorld } from "./agents_world.ts";

const SNAPSHOT = "/var/lib/rancher/k3s/server/db/snapshots/one";

/** What must hold at every moment; the first thing that does not, or null. */
export function brokenRule({ etcd, servers, breaches }: AgentsWorld): string | null {
  for (const { by, what, holder } of etcd.writes.splice(0)) {
    if (holder !== by) return `${by} did ${what} while ${holder || "nobody"} held the lease`;
  }
  const [breach] = breaches;
  if (breach !== undefined) return breach;
  const { all, intact } = etcd.votes();
  if (intact * 2 <= all) return `of ${all} members ${intact} have their data`;
  for (const { name, machine } of servers) {
    if (machine.disk.text(SNAPSHOT) !== "a snapshot") return `${name} lost its snapshots`;
  }
  return null;
}

/** What must hold once all trouble is over and whoever was out has rejoined; or null. */
export function notHealed({ etcd, servers, portal }: AgentsWorld): string | null {
  for (const [number, { name }] of servers.entries()) {
    if (etcd.isUp(number)) continue;
    const last = portal.offered.filter(({ server }) => server === name).at(-1);
    return `${name} is not up again: ${JSON.stringify(last)}`;
  }
  const open = portal.offered.find(({ result }) => result === null);
  if (open !== undefined) return `operation without a result: ${JSON.stringify(open)}`;
  const leaders = [...portal.leads].filter(([, leads]) => leads).map(([name]) => name);
  return leaders.length === 1 ? null : `not one leads, but ${leaders.join(", ") || "nobody"}`;
}
