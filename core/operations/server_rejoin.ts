import * as z from "zod";
import { namespaceUid } from "../cluster/kubernetes_facts.ts";
import { findK3sProcesses } from "../host/k3s_processes.ts";
import type { JsonObject } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import { K3S_DATABASE_DIRECTORY, K3S_HOLD_FILE, K3S_UNIT } from "../state/paths.ts";
import { defineOperation, PROGRAM_ENDS, type StepEnd, type StepTools } from "./definition.ts";
import { hasK3sEnded, startUnit } from "./k3s_stop.ts";
import { patiently } from "./patiently.ts";
import { isNoMember, NO_MEMBER } from "./rejoin/no_member.ts";
import { lookAtMemberName } from "./rejoin/quorum.ts";
import { proveJoined } from "./rejoin/prove_joined.ts";
import {
  clear,
  giveBack,
  hold,
  KIND,
  probeWipe,
  quorumNow,
  Stopped,
  wipeDb,
} from "./rejoin/wipe.ts";
import { lookAtDatabase } from "./restore/database.ts";
import { isHoldOf, isUnitUp, liftHold, lookAtHold, placeHold, readHold } from "./restore/hold.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

type Tools = StepTools<JsonObject>;

/**
 * Lets a server begin anew as a member of its cluster: after a restore on another server, or with a
 * database that is broken. Refused on the only server, and on one without which the cluster would have no
 * majority; the cluster to join is looked at first, and again before anything is wiped. Snapshots on the
 * node stay. From stop_k3s until the wipe is done k3s is held, a reboot included.
 */
export const serverRejoin = defineOperation({
  kind: "server.rejoin",
  params: z.strictObject({}) as unknown as z.ZodType<JsonObject>,
  needsApi: true,
  apiMayBeElsewhere: true,
  needsServers: true,
  stopsK3s: { provenBy: "wait_api" },
  steps: {
    stop_k3s: { timeoutMs: TIMEOUT_MS.rejoinStop, run: stopK3s },
    wipe_db: { timeoutMs: TIMEOUT_MS.rejoinWipe, run: wipeDb, probe: probeWipe },
    start_k3s: { timeoutMs: TIMEOUT_MS.unitStart, run: startK3s },
    wait_api: { timeoutMs: TIMEOUT_MS.rejoinApi, run: waitApi },
  },
  output: () => ({}),
});

/** Checks, holds k3s and stops it. */
async function stopK3s(tools: Tools): Promise<StepEnd> {
  const { ports, say } = tools;
  const uid = await knownUid(tools);
  if (!uid.ok) return await giveBack(tools, uid.error, "checks_failed");
  const busy = await snapshotUnderWay(tools);
  if (busy !== null) return await giveBack(tools, busy, "checks_failed");
  const before = await readHold(ports);
  const noMember = await isNoMember(tools, before !== null && isHoldOf(before, KIND, tools.id));
  const quorum = noMember ? ok(NO_MEMBER) : await quorumNow(tools, uid.value);
  if (!quorum.ok) return await giveBack(tools, quorum.error, "checks_failed");
  const { isSafe, words } = quorum.value;
  await say(words);
  if (!isSafe) return await giveBack(tools, words, "no_majority");

  const held = await hold(tools, uid.value);
  if (!held.ok) return await giveBack(tools, `k3s cannot be held: ${held.error.message}`);
  const stop = await ports.systemd.stop(K3S_UNIT);
  if (!stop.ok) await say(stop.error.message);
  if (!await hasK3sEnded(tools)) {
    return await giveBack(tools, "k3s did not end when it was told to");
  }
  const shown = await patiently(tools, "the disk to show the database", async () => {
    const member = await lookAtMemberName(ports);
    if (!member.ok) return member;
    const before = await lookAtDatabase(ports.disk);
    return before.ok ? ok({ before: before.value, member: member.value }) : before;
  });
  if (!shown.ok) return await giveBack(tools, shown.error.message);
  return {
    kind: "done",
    handed: {
      uid: uid.value,
      ...shown.value,
      no_member: noMember,
    },
    evidence: `${K3S_UNIT} is stopped and held; ${words}`,
  };
}

/** kube-system's UID, by which the cluster is known; of a node that forgot it, its own API's. */
async function knownUid({ ports, node }: Tools): Promise<Result<string, string>> {
  if (node.kubeSystemUid !== null) return ok(node.kubeSystemUid);
  const namespace = await ports.k8s.get({
    apiVersion: "v1",
    resource: "namespaces",
    name: "kube-system",
  });
  const uid = namespace.ok && namespace.value !== null ? namespaceUid(namespace.value) : null;
  return uid === null
    ? fail(
      "this node does not know its cluster's kube-system UID: nothing could prove what it joins",
    )
    : ok(uid);
}

/** A snapshot that is being taken lies beside the database. */
async function snapshotUnderWay({ ports }: Tools): Promise<string | null> {
  const found = await findK3sProcesses(ports.machine);
  if (!found.ok) return found.error.message;
  const busy = found.value.find(({ work }) => work === "etcd-snapshot");
  return busy === undefined
    ? null
    : `k3s takes or changes a snapshot at the moment (process ${busy.pid}): try again after it`;
}

/**
 * Starts k3s on no database, so that it joins; or again, where it was started before. The database is wiped:
 * what the disk does not take now is tried again until it does.
 */
async function startK3s(tools: Tools): Promise<StepEnd> {
  const { ports, complete } = tools;
  const shown = await complete("the disk to show the database", async () => {
    const held = await lookAtHold(ports);
    if (!held.ok) return held;
    const now = await lookAtDatabase(ports.disk);
    return now.ok ? ok({ isHeld: held.value !== null, etcd: now.value.etcd }) : now;
  });
  if (shown === null) return PROGRAM_ENDS;
  if (shown.isHeld) {
    // While it is held nothing can have started it: whatever database is there is none it may join with.
    if (shown.etcd !== "absent") {
      const message =
        `there is a database in ${K3S_DATABASE_DIRECTORY} again: k3s is not started, and ` +
        `stays held (${K3S_HOLD_FILE}). A new server.rejoin may follow`;
      return { kind: "failed", message };
    }
    if (await complete("the rest of the database to be removed", () => clear(ports)) === null) {
      return PROGRAM_ENDS;
    }
  }
  const lifted = await complete("the hold on k3s to be lifted", () => liftHold(ports));
  if (lifted === null) return PROGRAM_ENDS;
  const started = await startUnit(tools);
  if (!started.ok) return { kind: "failed", message: started.error.message };
  return { kind: "done", evidence: `${K3S_UNIT} is started without a database: it joins` };
}

/** Waits until this server is a member of the same cluster. In another one it is stopped again. */
async function waitApi(tools: Tools): Promise<StepEnd> {
  const { ports, say, waitFor } = tools;
  const { uid, no_member } = Stopped.parse(tools.handed);
  // Only this step holds k3s again after it was started: it was cut short right after that.
  const held = await tools.complete("the disk to show the hold on k3s", async () => {
    const found = await lookAtHold(ports);
    return found.ok ? ok({ words: found.value }) : found;
  });
  if (held === null) return PROGRAM_ENDS;
  if (held.words !== null) return await stopWrongCluster(tools, held.words);
  let why = "";
  const end = await waitFor("this server to be in its cluster again", async () => {
    const proof = await proveJoined(ports, uid, no_member);
    if (proof.kind !== "waits") return proof;
    if (proof.why !== why) await say(proof.why);
    why = proof.why;
    return null;
  });
  if (end === null) {
    const message =
      `this server has not joined: ${why}; its old database is gone, and k3s goes on ` +
      `trying: see journalctl -u ${K3S_UNIT}`;
    return { kind: "failed", message };
  }
  if (end.kind === "wrong") return await stopWrongCluster(tools, end.why);
  const remembered = await tools.rememberCluster(uid);
  if (!remembered.ok) return { kind: "failed", message: remembered.error.message };
  const members = end.kind === "joined" ? end.members : 0;
  return {
    kind: "done",
    evidence: `the API is up, kube-system has the UID ${uid}` +
      (members === 0 ? "" : `, and this server is one of ${members} members of etcd`),
  };
}

/** What came up is not the cluster that this server belongs to. */
async function stopWrongCluster(tools: Tools, why: string): Promise<StepEnd> {
  const { ports, say } = tools;
  const { uid } = Stopped.parse(tools.handed);
  let held = await placeHold(ports, why, uid);
  if (!held.ok) await say(held.error.message);
  const stop = await ports.systemd.stop(K3S_UNIT);
  if (!stop.ok) await say(stop.error.message);
  if (!held.ok) {
    held = await patiently(tools, "the disk to be well", () => placeHold(ports, why, uid));
  }
  const isDown = held.ok && stop.ok && !await isUnitUp(ports);
  const how = isDown
    ? `k3s was stopped again and is held (${K3S_HOLD_FILE})`
    : "k3s could not be stopped and held again, and may run";
  const message = `${why.trim()}; ${how}. A new server.rejoin may follow`;
  return { kind: "failed", code: "wrong_cluster", message };
}
