import { memberOfNode } from "../../cluster/kubernetes_facts.ts";
import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { JsonObject } from "../../json.ts";
import { fail, type Result } from "../../result.ts";
import type { EtcdMember, ServerView } from "../../ports/servers.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { hasNoCertificates } from "../rejoin/no_member.ts";
import { isNamedAfter, lookAtOthers } from "../rejoin/quorum.ts";
import { OWN_SERVER } from "../restore/other_servers.ts";
import { configuredToken } from "../restore/tokens.ts";

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
    const found = await ownView(tools);
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

/** The cluster as this server's own k3s shows it. */
async function ownView<P>({ ports }: StepTools<P>): Promise<Result<ServerView, string>> {
  const settings = await readK3sSettings(ports.disk);
  if (!settings.ok) return settings;
  const token = await configuredToken(ports, settings.value);
  if (!token.ok) return token;
  if (token.value === null) return fail("this node has no token of k3s to ask with");
  const view = await ports.servers.look(OWN_SERVER, token.value);
  return view.ok ? view : fail(view.error.message);
}

function against(code: string, name: string, why: string): StepEnd {
  return { kind: "failed", code, message: `Node ${name} is not deleted: ${why}` };
}
