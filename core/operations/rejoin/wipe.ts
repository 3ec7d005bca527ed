import * as z from "zod";
import type { JsonObject } from "../../json.ts";
import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import type { EtcdMember } from "../../ports/servers.ts";
import { fail, ok, type Result } from "../../result.ts";
import {
  K3S_DATABASE_DIRECTORY,
  K3S_HOLD_FILE,
  K3S_SNAPSHOT_DIRECTORY,
  K3S_UNIT,
} from "../../state/paths.ts";
import { type Probe, PROGRAM_ENDS, type StepEnd, type StepTools } from "../definition.ts";
import { isK3sDown, startUnit } from "../k3s_stop.ts";
import { lookFor } from "../look_for.ts";
import { patiently } from "../patiently.ts";
import { DatabaseFacts, lookAtDatabase } from "../restore/database.ts";
import { holdWords, isHoldOf, liftHold, placeHold, readHold } from "../restore/hold.ts";
import { NO_MEMBER } from "./no_member.ts";
import { lookAtMemberName, lookAtQuorum, type Quorum } from "./quorum.ts";
import { findTarget, lookAtTarget } from "./target.ts";

type Tools = StepTools<JsonObject>;

/** By which its hold is known. */
export const KIND = "server.rejoin";

/**
 * Holds k3s for the wipe, all of it anew: a hold may have been cut short. One of another operation keeps
 * its words, by which it is known.
 */
export function hold(tools: Tools, uid: string): ReturnType<typeof placeHold> {
  const { id, ports } = tools;
  return patiently(tools, DISK, async () => {
    const before = await readHold(ports);
    const words = before?.trim() || holdWords(KIND, id, "its database is wiped");
    return await placeHold(ports, words, uid);
  });
}

const DISK = "the disk to be well";

/** What stop_k3s hands on. */
export const Stopped = z.object({
  /** kube-system's UID of the cluster that this server belongs to. */
  uid: z.string(),
  before: DatabaseFacts,
  /** How the database called its member. */
  member: z.string().nullable(),
  /** This server is a member of no etcd: there is nobody to ask about it. */
  no_member: z.boolean().default(false),
});

const ETCD = `${K3S_DATABASE_DIRECTORY}/etcd`;
/** How long the cluster has to show that it goes on without this server, milliseconds. */
const LOOK_MS = 60_000;

/**
 * Takes this server out of the cluster's etcd, then wipes its database, in this order: that a member goes
 * is agreed upon by a majority of the others, which proves that the cluster goes on without this one.
 * Of two servers that do this at once one finds no majority, because each has stopped before it looks.
 */
export async function wipeDb(tools: Tools): Promise<StepEnd> {
  const { id, ports, say } = tools;
  const { uid, no_member } = Stopped.parse(tools.handed);
  if (!await isK3sDown(tools)) return { kind: "failed", message: RUNS };
  const held = await hold(tools, uid);
  if (!held.ok) return await giveBack(tools, `k3s cannot be held: ${held.error.message}`);
  const quorum = no_member ? ok(NO_MEMBER) : await safeQuorum(tools, uid);
  if (!quorum.ok) return await giveBack(tools, quorum.error, "no_majority");
  await say(quorum.value.words);
  // The look may have waited: whoever has started k3s meanwhile has the last word.
  if (!await isK3sDown(tools)) return { kind: "failed", message: RUNS };
  for (const member of quorum.value.own) {
    const stays = await takeOut(tools, uid, quorum.value, member);
    if (stays !== null) return await giveBack(tools, stays, "no_majority");
    await say(`${member.name} is no member of etcd any more`);
  }
  // This server is no member any more: its database is of no use to anybody, whatever the disk says now.
  const wiped = await tools.complete(
    "the disk to set the old database aside",
    () => setAside(ports, id),
  );
  if (wiped === null) return PROGRAM_ENDS;
  const cleared = await clear(ports);
  if (!cleared.ok) await say(`${cleared.error.message}: it is tried again before k3s starts`);
  return { kind: "done", evidence: WIPED };
}

/** Null once a member is out of etcd, which a majority has agreed upon; else what is against it. */
async function takeOut(
  tools: Tools,
  uid: string,
  { healthyOthers }: Quorum,
  member: EtcdMember,
): Promise<string | null> {
  // A member without a vote takes no such request.
  const through = healthyOthers.find(({ isLearner }) => !isLearner);
  if (through === undefined) return "no other member with a vote answers";
  const removed = await tools.ports.servers.removeMember(through, member);
  if (removed.ok) return null;
  // The answer may have been lost, and a member that is out cannot go on with its database.
  const now = await safeQuorum(tools, uid);
  if (now.ok && !now.value.own.some(({ id }) => id === member.id)) return null;
  return `etcd does not take out ${member.name}: ${removed.error.message}`;
}

const WIPED = "the database is gone, the snapshots on this node are there";

const RUNS =
  "k3s runs on this node, although it was stopped and held: whoever started it has the " +
  "last word; nothing was wiped, stop k3s and ask for a new server.rejoin";

/** What the node shows of a wipe that was cut short: the move of the database is its one moment. */
export async function probeWipe(tools: Tools): Promise<Probe> {
  const { id, ports } = tools;
  const { before, member } = Stopped.parse(tools.handed);
  if (!await isK3sDown(tools)) return { kind: "unclear", message: RUNS };
  const shown = await tools.complete("the disk to show the database", async () => {
    const aside = await ports.disk.stat(asidePath(id));
    if (!aside.ok) return aside;
    const now = await lookAtDatabase(ports.disk);
    const name = await lookAtMemberName(ports);
    if (!name.ok) return name;
    const isAside = aside.value !== null;
    return now.ok ? ok({ isAside, etcd: now.value.etcd, name: name.value }) : now;
  });
  if (shown === null) return { kind: "unclear", message: "the agent ends" };
  if (shown.isAside) return { kind: "completed", evidence: WIPED };
  if (shown.etcd === "absent") {
    return before.etcd === "absent"
      ? { kind: "not_begun" }
      : { kind: "completed", evidence: WIPED };
  }
  if (shown.name === member) return { kind: "not_begun" };
  const message =
    `${ETCD} holds another database than before: k3s was started meanwhile; look at it, ` +
    `and ask for a new server.rejoin; while ${K3S_HOLD_FILE} is there, k3s does not start`;
  return { kind: "unclear", message };
}

/** Removes what is left of the database, all but the snapshots. Can be repeated. */
export async function clear({ disk }: Ports): Promise<Result<void, DiskError>> {
  const names = await disk.list(K3S_DATABASE_DIRECTORY);
  if (!names.ok) return names;
  for (const name of names.value ?? []) {
    const path = `${K3S_DATABASE_DIRECTORY}/${name}`;
    if (path === K3S_SNAPSHOT_DIRECTORY || path === ETCD) continue;
    const removed = await disk.remove(path);
    if (!removed.ok) return removed;
  }
  return names.value === null ? ok(undefined) : await disk.syncDirectory(K3S_DATABASE_DIRECTORY);
}

/** Ends the operation before anything was wiped: k3s goes on with its database, where that is its own. */
export async function giveBack(tools: Tools, why: string, code?: string): Promise<StepEnd> {
  const { id, ports } = tools;
  const failed = (message: string): StepEnd => ({
    kind: "failed",
    message: `nothing was wiped, ${message}: ${why}`,
    ...(code === undefined ? {} : { code }),
  });
  // The program ends, and the next one goes on here: it finds k3s as the step before left it.
  if (tools.signal.aborted) return failed(`k3s stays as it is (${K3S_HOLD_FILE})`);
  const hold = await readHold(ports);
  if (hold === null) return failed("and k3s was not stopped");
  // What a restore holds is no database to start k3s on.
  if (!isHoldOf(hold, KIND, id)) {
    return failed(`k3s stays held as it was before (${K3S_HOLD_FILE})`);
  }
  const lifted = await patiently(tools, DISK, () => liftHold(ports));
  const started = lifted.ok ? await startUnit(tools) : lifted;
  if (started.ok) return failed("k3s is started again on its own database");
  return failed(
    `k3s is not started again (${started.error.message}; remove ${K3S_HOLD_FILE}, then systemctl ` +
      `start ${K3S_UNIT})`,
  );
}

/** The cluster as it is now, after a while for it: it may choose a leader just now. */
async function safeQuorum(tools: Tools, uid: string): Promise<Result<Quorum, string>> {
  let why = "";
  const found = await lookFor(
    tools,
    "the cluster to go on without this server",
    LOOK_MS,
    async () => {
      const quorum = await quorumNow(tools, uid);
      why = quorum.ok ? quorum.value.words : quorum.error;
      return quorum.ok && quorum.value.isSafe ? quorum.value : null;
    },
  );
  return found === null ? fail(why) : ok(found);
}

/** Whether the cluster that this server joins goes on without it. The error is for people. */
export async function quorumNow(
  { ports, node }: Tools,
  uid: string,
): Promise<Result<Quorum, string>> {
  const target = await findTarget(ports);
  if (!target.ok) return target;
  const view = await lookAtTarget(ports, target.value, uid);
  return view.ok ? ok(await lookAtQuorum(ports, node, view.value)) : view;
}

/** One rename, so that the database is either there or not. */
async function setAside({ disk }: Ports, id: string): Promise<Result<void, DiskError>> {
  const there = await disk.stat(ETCD);
  if (!there.ok) return there;
  if (there.value === null) return ok(undefined);
  const moved = await disk.rename(ETCD, asidePath(id));
  return moved.ok ? await disk.syncDirectory(K3S_DATABASE_DIRECTORY) : moved;
}

function asidePath(id: string): string {
  return `${K3S_DATABASE_DIRECTORY}/etcd-wiped-${id}`;
}
