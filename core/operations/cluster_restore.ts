import { ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { K3S_HOLD_FILE, K3S_UNIT, RESTORE_DIRECTORY } from "../state/paths.ts";
import { defineOperation, PROGRAM_ENDS, type StepEnd, type StepTools } from "./definition.ts";
import { hasK3sEnded, startUnit } from "./k3s_stop.ts";
import { checkRestore } from "./restore/check.ts";
import { patiently, type Refusal } from "./patiently.ts";
import { lookAtDatabase, readDatabase } from "./restore/database.ts";
import { forgetStaleNodes, otherNodes } from "./restore/forget_nodes.ts";
import {
  holdWords,
  isHoldOf,
  isUnitUp,
  liftHold,
  lookAtHold,
  placeHold,
  readHold,
} from "./restore/hold.ts";
import { noteOrigin, oldData, readOrigin } from "./restore/origin.ts";
import { BegunRestoreParams, RestoreParams } from "./restore/params.ts";
import { proveCluster } from "./restore/prove.ts";
import { isProven } from "./restore/receipt.ts";
import { removeOld } from "./restore/remove_old.ts";
import { probeReset, resetRestore, wantedCluster } from "./restore/reset.ts";
import { removeSnapshotFiles } from "./restore/snapshot_files.ts";
import { stopped } from "./restore/stopped.ts";
import { stateOfNode } from "./restore/words.ts";
import { writeToken } from "./restore/write_token.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

type Tools = StepTools<RestoreParams>;

/**
 * Puts the cluster's database back to a snapshot. Everything that can be checked is checked while the
 * cluster still runs. From stop_k3s until the reset is proven k3s is held: nothing starts it, a reboot
 * included, because on half a database it could come up as an empty cluster.
 */
export const clusterRestore = defineOperation({
  kind: "cluster.restore",
  params: RestoreParams,
  begunParams: BegunRestoreParams,
  needsApi: false,
  isRescue: true,
  stopsK3s: { provenBy: "wait_api" },
  steps: {
    stop_k3s: { timeoutMs: TIMEOUT_MS.restoreStop, run: stopK3s },
    reset_restore: {
      timeoutMs: TIMEOUT_MS.restoreReset,
      run: resetRestore,
      probe: probeReset,
    },
    start_k3s: { timeoutMs: TIMEOUT_MS.unitStart, run: startK3s },
    wait_api: { timeoutMs: TIMEOUT_MS.restoreApi, run: waitApi },
    forget_stale_nodes: { timeoutMs: TIMEOUT_MS.restoreNodes, run: tidyUp },
  },
  output: ({ snapshot, size, forgotten_nodes }) => ({
    snapshot: snapshot ?? null,
    size: size ?? null,
    forgotten_nodes: forgotten_nodes ?? null,
  }),
});

/** Checks, gets the snapshot onto the node, holds k3s and stops it. */
async function stopK3s(tools: Tools): Promise<StepEnd> {
  const { id, params, ports, say } = tools;
  // Held already: this step was cut short, or a restore before this one failed. k3s may still be ending.
  const heldBefore = await readHold(ports);
  if (heldBefore !== null && !await isUnitUp(ports)) await hasK3sEnded(tools);
  const cleared = await patiently(tools, DISK, () => ports.disk.remove(RESTORE_DIRECTORY));
  if (!cleared.ok) return { kind: "failed", message: cleared.error.message };

  const { findings, staged, size, code } = await checkRestore(tools);
  if (findings.length > 0 || staged === null) {
    for (const finding of findings) await say(`against it: ${finding}`);
    const list = findings.map((finding, index) => `(${index + 1}) ${finding}`).join("; ");
    const what = findings.length === 1 ? "one thing is" : `${findings.length} things are`;
    return await leave(tools, `${what} against it: ${list}`, code ?? "checks_failed");
  }

  const origin = await patiently(
    tools,
    DISK,
    () => noteOrigin(ports.disk, heldBefore !== null),
  );
  if (!origin.ok) return await leave(tools, origin.error.message);
  const held = await patiently(tools, DISK, () =>
    placeHold(
      ports,
      holdWords("cluster.restore", id, "its reset succeeded"),
      wantedCluster(tools),
    ));
  if (!held.ok) return await leave(tools, `k3s cannot be held: ${held.error.message}`);
  const stop = await ports.systemd.stop(K3S_UNIT);
  if (!stop.ok) await say(stop.error.message);
  if (!await hasK3sEnded(tools)) return await leave(tools, "k3s did not end when it was told to");
  const before = await patiently(tools, DISK, () => lookAtDatabase(ports.disk));
  if (!before.ok) return await leave(tools, before.error.message);
  return {
    kind: "done",
    handed: {
      snapshot: params.snapshot,
      size,
      staged: staged.path,
      plain_size: staged.facts.plainSize,
      before: before.value,
      origin: origin.value,
    },
    evidence: `${K3S_UNIT} is stopped and held, and the snapshot is on the node, whole`,
  };
}

/** Ends the operation before anything was moved, and says how the cluster is left. */
async function leave(tools: Tools, why: string, code?: string): Promise<StepEnd> {
  const { id, ports } = tools;
  await removeSnapshotFiles(tools);
  const failed = (message: string): StepEnd => ({
    kind: "failed",
    message,
    ...(code === undefined ? {} : { code }),
  });
  const hold = await readHold(ports);
  if (hold === null) return failed(`nothing was stopped or changed: ${why}`);
  // A hold on a k3s that runs on would only show at the next reboot.
  if (await isUnitUp(ports)) {
    const lifted = await patiently(tools, DISK, () => liftHold(ports));
    if (lifted.ok) return failed(`nothing was changed, the cluster runs on: ${why}`);
    const way = `remove ${K3S_HOLD_FILE}, or k3s does not start at the next boot`;
    return failed(
      `nothing was changed, the cluster runs on: ${why}; ${lifted.error.message}: ${way}`,
    );
  }
  if (!isHoldOf(hold, "cluster.restore", id)) {
    return failed(`nothing was changed, k3s stays stopped and held (${K3S_HOLD_FILE}): ${why}`);
  }
  const now = await readDatabase(ports.disk);
  return failed(
    `nothing was changed: ${why}; ${
      stateOfNode(now, now, await readOrigin(ports.disk) ?? { ...now, seen: [] })
    }`,
  );
}

const DISK = "the disk to be well";

/**
 * Starts k3s on the restored database, and on no other. The reset is proven: what the disk does not take
 * now is tried again until it does.
 */
async function startK3s(tools: Tools): Promise<StepEnd> {
  const { id, params, ports, open, complete } = tools;
  const { before, origin } = stopped(tools.handed);
  const proof = await complete("the disk to show the restored database", async () => {
    const now = await lookAtDatabase(ports.disk);
    if (!now.ok) return now;
    const proven = await isProven(ports.disk, id, now.value);
    return proven.ok ? ok({ now: now.value, isProven: proven.value }) : proven;
  });
  if (proof === null) return PROGRAM_ENDS;
  const { now } = proof;
  if (!proof.isProven) {
    const message =
      "the database on the disk is not the one that was restored, k3s is not started; " +
      stateOfNode(before, now, origin);
    return { kind: "failed", message };
  }
  if (params.token !== null) {
    const token = open(params.token);
    const written = await complete("the disk to take the token", () => tokenWritten(ports, token));
    if (written === null) return PROGRAM_ENDS;
    if (written.refusal !== null) {
      return { kind: "failed", message: `k3s is not started: ${written.refusal}` };
    }
  }
  const lifted = await complete("the hold on k3s to be lifted", () => liftHold(ports));
  if (lifted === null) return PROGRAM_ENDS;
  const started = await startUnit(tools);
  if (!started.ok) return { kind: "failed", message: started.error.message };
  return { kind: "done", evidence: `${K3S_UNIT} is started on the restored database` };
}

/** Writes the token; what refuses it for good is no matter of waiting. */
async function tokenWritten(
  ports: Tools["ports"],
  token: Secret,
): Promise<Result<{ readonly refusal: string | null }, Refusal>> {
  const written = await writeToken(ports, token);
  if (written.ok) return ok({ refusal: null });
  return written.error.passes ? written : ok({ refusal: written.error.message });
}

/** Waits for the API and proves that it is the restored cluster's. Another one is stopped again. */
async function waitApi(tools: Tools): Promise<StepEnd> {
  const { ports, node, say, waitFor } = tools;
  const { before } = stopped(tools.handed);
  // Only this step holds k3s again after it was started: it was cut short right after that.
  const held = await tools.complete("the disk to show the hold on k3s", async () => {
    const found = await lookAtHold(ports);
    return found.ok ? ok({ words: found.value }) : found;
  });
  if (held === null) return PROGRAM_ENDS;
  if (held.words !== null) return await stopWrongCluster(tools, held.words);
  const uid = wantedCluster(tools);
  let why = "";
  const end = await waitFor("the restored cluster's API", async () => {
    const proof = await proveCluster(ports, before, uid);
    const others = proof.kind === "proven" ? await otherNodes(tools) : null;
    if (proof.kind === "wrong") return proof;
    if (proof.kind === "proven" && others !== null) return { ...proof, others };
    const waits = proof.kind === "waits" ? proof.why : "the API does not list its Nodes";
    if (waits !== why) await say(waits);
    why = waits;
    return null;
  });
  if (end === null) {
    const message =
      `the restored cluster's API is not up: ${why}; the database was restored, and k3s ` +
      `goes on trying to start on it: see journalctl -u ${K3S_UNIT}`;
    return { kind: "failed", message };
  }
  if (end.kind === "wrong") return await stopWrongCluster(tools, end.why);
  const { uid: found } = end;
  const remembered = await tools.complete(
    "the disk to keep the cluster's UID",
    () => tools.rememberCluster(found),
  );
  if (remembered === null) return PROGRAM_ENDS;
  return {
    kind: "done",
    handed: { nodes: end.others.map(({ name, uid }) => ({ name, uid })) },
    evidence: `the API is up on etcd, kube-system has the UID ${end.uid}, k3s's kinds are there` +
      ((node.desired?.servers ?? 1) === 1 ? "" : "; every other server has to rejoin"),
  };
}

/** The last step, on a cluster that is proven: its stale Nodes and the data of earlier restores go. */
async function tidyUp(tools: Tools): Promise<StepEnd> {
  const end = await forgetStaleNodes(tools);
  if (end.kind !== "done") return end;
  const { origin } = stopped(tools.handed);
  const old = await removeOld(tools.ports.disk, origin);
  if (old !== "") await tools.say(old);
  return old === "" ? end : { ...end, evidence: `${end.evidence}; ${old}` };
}

/** What came up is not what was restored: it must not go on acting as this cluster. */
async function stopWrongCluster(tools: Tools, why: string): Promise<StepEnd> {
  const { ports, say } = tools;
  let held = await placeHold(ports, why, wantedCluster(tools));
  if (!held.ok) await say(held.error.message);
  const stop = await ports.systemd.stop(K3S_UNIT);
  if (!stop.ok) await say(stop.error.message);
  if (!held.ok) {
    held = await patiently(tools, DISK, () => placeHold(ports, why, wantedCluster(tools)));
  }
  const how = held.ok && stop.ok
    ? `k3s was stopped again and is held (${K3S_HOLD_FILE})`
    : "k3s could not be stopped and held again, and may run";
  const { origin } = stopped(tools.handed);
  const folder = oldData(origin, await readDatabase(ports.disk));
  const old = folder === null ? "" : ` The old data is whole in ${folder}.`;
  const message = `${why.trim()}; ${how}.${old} A new cluster.restore may follow`;
  return { kind: "failed", code: "wrong_cluster", message };
}
