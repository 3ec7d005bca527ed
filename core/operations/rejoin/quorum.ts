import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import type { EtcdMember, ServerView } from "../../ports/servers.ts";
import { ok, type Result } from "../../result.ts";
import { K3S_DATABASE_DIRECTORY } from "../../state/paths.ts";
import type { NodeFacts } from "../node_facts.ts";
import { nodeNames } from "../snapshots/find_snapshots.ts";

/** The members of a cluster, and what they would be without one server's own. */
export interface Quorum {
  /** This server's own: usually one, or none after a restore. */
  readonly own: readonly EtcdMember[];
  /** One of its own answers. */
  readonly isOwnHealthy: boolean;
  /** The others that answer. */
  readonly healthyOthers: readonly EtcdMember[];
  /** The others that have a vote and answer are a majority of all votes. */
  readonly isSafe: boolean;
  /** For people: "3 members, 2 healthy, losing this one leaves 1: no majority". */
  readonly words: string;
}

/** k3s's name for a member: the node's, a hyphen, eight hex digits. */
const SUFFIX = /-[0-9a-f]{8}$/;

/** Asks every member what the cluster would be without this node's own. */
export async function lookAtQuorum(
  ports: Ports,
  node: NodeFacts,
  view: ServerView,
): Promise<Quorum> {
  const names = await nodeNames(ports, node);
  const stored = await memberName(ports);
  return await lookAtOthers(
    ports,
    view,
    ({ name }) => name === stored || isNamedAfter(name, names),
  );
}

/** Whether k3s gave a member of this name to a node of one of these. */
export function isNamedAfter(member: string, nodes: readonly string[]): boolean {
  return SUFFIX.test(member) && nodes.includes(member.replace(SUFFIX, ""));
}

/** Asks every member what the cluster would be without some of them. */
export async function lookAtOthers(
  ports: Ports,
  { members }: ServerView,
  isOwn: (member: EtcdMember) => boolean,
): Promise<Quorum> {
  const healthy = await Promise.all(members.map((member) => ports.servers.isHealthy(member)));
  return judgeQuorum(members.map((member, index) => ({
    member,
    isOwn: isOwn(member),
    isHealthy: healthy[index] === true,
  })));
}

/** A member as it was found. */
export interface FoundMember {
  readonly member: EtcdMember;
  readonly isOwn: boolean;
  readonly isHealthy: boolean;
}

/** Whether the cluster goes on without this server, be it one of its members now or not. */
export function judgeQuorum(found: readonly FoundMember[]): Quorum {
  const voters = found.filter(({ member }) => !member.isLearner);
  const others = found.filter(({ isOwn, isHealthy }) => !isOwn && isHealthy);
  const votes = others.filter(({ member }) => !member.isLearner).length;
  const isSafe = votes * 2 > voters.length;
  const isMember = voters.some(({ isOwn }) => isOwn);
  const healthy = voters.filter(({ isHealthy }) => isHealthy).length;
  const without = isMember ? `losing this one leaves ${votes}` : "this one is none of them";
  return {
    own: found.filter(({ isOwn }) => isOwn).map(({ member }) => member),
    isOwnHealthy: found.some(({ isOwn, isHealthy }) => isOwn && isHealthy),
    healthyOthers: others.map(({ member }) => member),
    isSafe,
    words: `${count(voters.length)}, ${healthy} healthy, ${without}${
      isSafe ? "" : ": no majority"
    }`,
  };
}

function count(members: number): string {
  return members === 1 ? "1 member" : `${members} members`;
}

/** How this server's own database calls its member; null where it does not say. */
export async function memberName(ports: Ports): Promise<string | null> {
  const name = await lookAtMemberName(ports);
  return name.ok ? name.value : null;
}

/** The same for a verdict: a disk that cannot be read at the moment shows no other name. */
export async function lookAtMemberName(
  { disk }: Ports,
): Promise<Result<string | null, DiskError>> {
  const read = await disk.read(`${K3S_DATABASE_DIRECTORY}/etcd/name`, 4096);
  if (!read.ok) return read;
  return ok(read.value === null ? null : new TextDecoder().decode(read.value).trim() || null);
}
