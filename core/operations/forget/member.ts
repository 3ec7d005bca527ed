import { memberOfNode } from "../../cluster/kubernetes_facts.ts";
import type { JsonObject } from "../../json.ts";
import type { EtcdMember } from "../../ports/servers.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { hasNoCertificates } from "../rejoin/no_member.ts";
import { ownView } from "../rejoin/own_view.ts";
import { isNamedAfter, lookAtOthers } from "../rejoin/quorum.ts";

/** How long the cluster has to show its members, milliseconds: it may choose a leader just now. */
const LOOK_MS = 60_000;

/**
 * What is against taking a Node's member out of etcd, which k3s does when the Node is deleted: it answers,
 * or the others are no majority as this server sees them. Null where the Node has no member. What cannot
 * be found out is against it.
 */
export async function memberObjection<P>(
  tools: StepTools<P>,
  name: string,
  node: JsonObject,
): Promise<StepEnd | null> {
  const { ports, say } = tools;
  const member = memberOfNode(node);
  // Without certificates k3s runs no etcd here, and nobody could be asked.
  if (member === null || await hasNoCertificates(ports)) return null;
  let why = "";
  const view = await lookFor(tools, "the members of etcd", LOOK_MS, async () => {
    const found = await ownView(ports);
    if (found.ok) return found.value;
    why = found.error;
    return null;
  });
  if (view === null) return against("checks_failed", name, `its etcd does not tell: ${why}`);
  // What is noted may be of before it joined anew.
  const isOwn = (each: EtcdMember) => each.name === member || isNamedAfter(each.name, [name]);
  if (!view.members.some(isOwn)) return null;
  const quorum = await lookAtOthers(ports, view, isOwn);
  await say(quorum.words);
  if (quorum.isOwnHealthy) {
    return against("node_alive", name, `its member of etcd, ${quorum.own[0]?.name}, answers`);
  }
  return quorum.isSafe ? null : against("no_majority", name, quorum.words);
}

function against(code: string, name: string, why: string): StepEnd {
  return { kind: "failed", code, message: `Node ${name} is not deleted: ${why}` };
}
