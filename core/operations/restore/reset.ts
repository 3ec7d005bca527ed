import { isK3sQuiet } from "../../host/k3s_processes.ts";
import type { DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { writeDocument } from "../../state/durable.ts";
import {
  K3S_DATABASE_DIRECTORY,
  K3S_SERVER_DIRECTORY,
  K3S_SNAPSHOT_DIRECTORY,
} from "../../state/paths.ts";
import { type Probe, PROGRAM_ENDS, type StepEnd, type StepTools } from "../definition.ts";
import { patiently } from "../patiently.ts";
import { sayLines } from "../say_lines.ts";
import { type DatabaseFacts, judgeReset, lookAtDatabase, readDatabase } from "./database.ts";
import { holdWords, isUnitUp, placeHold } from "./hold.ts";
import { saysResetDone, whyResetFailed } from "./k3s_words.ts";
import type { RestoreParams } from "./params.ts";
import { isProven, writeReceipt } from "./receipt.ts";
import { readySnapshot, removeSnapshotFiles } from "./snapshot_files.ts";
import { stopped } from "./stopped.ts";
import {
  forgetServerToken,
  GIVEN_TOKEN_FILE,
  keepServerToken,
  putBackServerToken,
} from "./tokens.ts";
import { stateOfNode } from "./words.ts";

type Tools = StepTools<RestoreParams>;

/** Has k3s make its database anew from the snapshot. Never runs twice on its own. */
export async function resetRestore(tools: Tools): Promise<StepEnd> {
  const { id, params, ports, open, say } = tools;
  const { before, origin } = stopped(tools.handed);
  const notBegun = async (why: string): Promise<StepEnd> => {
    const now = await readDatabase(ports.disk);
    return {
      kind: "failed",
      message: `the reset was not begun: ${why}; ${stateOfNode(before, now, origin)}`,
    };
  };
  if (await isUnitUp(ports) || !await isK3sQuiet(ports.machine)) {
    return { kind: "failed", message: `the reset was not begun: ${RUNS}` };
  }
  const held = await patiently(tools, DISK, () =>
    placeHold(
      ports,
      holdWords("cluster.restore", id, "its reset succeeded"),
      wantedCluster(tools),
    ));
  if (!held.ok) return await notBegun(held.error.message);
  const snapshot = await patiently(tools, DISK, () => readySnapshot(tools));
  if (!snapshot.ok) return await notBegun(snapshot.error.message);
  const kept = await patiently(tools, DISK, () => keepServerToken(ports));
  if (!kept.ok) return await notBegun(`k3s's token cannot be kept: ${kept.error.message}`);
  if (params.token !== null) {
    const bytes = new TextEncoder().encode(open(params.token).reveal());
    const written = await patiently(
      tools,
      DISK,
      () => writeDocument(ports.disk, GIVEN_TOKEN_FILE, bytes),
    );
    if (!written.ok) return await notBegun(written.error.message);
  }
  // k3s fails where it is missing (k3s fact H).
  const folder = await patiently(
    tools,
    DISK,
    () => ports.disk.makeDirectory(K3S_SNAPSHOT_DIRECTORY, 0o700),
  );
  if (!folder.ok) return await notBegun(folder.error.message);

  let saidDone = false;
  const lines = sayLines(say);
  await say(`k3s makes the database anew from ${snapshot.value}`);
  const exit = await ports.k3s.resetCluster(
    { snapshot: snapshot.value, ...(params.token === null ? {} : { tokenFile: GIVEN_TOKEN_FILE }) },
    (line) => {
      saidDone ||= saysResetDone(line);
      lines.take(line);
    },
  );
  await lines.written();
  await ports.disk.remove(GIVEN_TOKEN_FILE);

  const isDone = exit.ok && exit.value.code === 0 && saidDone;
  // What proves the reset is in memory alone: from here until it is written down, no trouble of the disk
  // is a verdict.
  const now = isDone ? await databaseNow(tools) : await readDatabase(ports.disk);
  if (now === null) return PROGRAM_ENDS;
  if (isDone && judgeReset(before, now) === "reset") {
    const kept = await tools.complete("the disk to keep the proof of the reset", async () => {
      const synced = await syncDatabase(tools);
      return synced.ok ? await writeReceipt(ports.disk, id, params.snapshot, now) : synced;
    });
    if (kept === null) return PROGRAM_ENDS;
    await cleanUp(tools);
    return { kind: "done", evidence: PROVEN };
  }
  const why = exit.ok ? whyResetFailed(exit.value.output) : exit.error.message;
  const how = exit.ok ? `k3s ended with ${exit.value.code ?? exit.value.signal}: ${why}` : why;
  return await unclear(tools, isDone ? `${how}; its words and the disk do not agree` : how);
}

const DISK = "the disk to be well";

/** What the node shows of its database, as soon as the disk can be read; null where the program ends. */
function databaseNow(tools: Tools): Promise<DatabaseFacts | null> {
  return tools.complete("the disk to show the database", () => lookAtDatabase(tools.ports.disk));
}

/** kube-system's UID that the restored cluster has to have; null where nobody knows it. */
export function wantedCluster({ params, node }: Tools): string | null {
  return params.kubeSystemUid ?? node.kubeSystemUid;
}

const PROVEN = "k3s ended with 0 and said that the cluster is reset, and the new database and " +
  "certificates are on the disk";

const RUNS =
  "k3s runs on this node, although it was stopped and held: whoever started it has the last " +
  "word; nothing was changed by this step, stop k3s and ask for a new cluster.restore";

/** What the node shows of a reset that was cut short. */
export async function probeReset(tools: Tools): Promise<Probe> {
  const { id, ports } = tools;
  const { before } = stopped(tools.handed);
  if (await isUnitUp(ports)) return { kind: "unclear", message: RUNS };
  // A reset can outlive the agent that began it, and is not disturbed.
  const quiet = await tools.waitFor(
    "k3s to end what it does",
    async () => await isK3sQuiet(ports.machine) ? true : null,
    5_000,
  );
  if (quiet === null) return { kind: "unclear", message: "a process of k3s runs and does not end" };
  await ports.disk.remove(GIVEN_TOKEN_FILE);
  const now = await databaseNow(tools);
  const proven = now === null
    ? null
    : await tools.complete("the receipt of the reset", () => isProven(ports.disk, id, now));
  if (now === null || proven === null) return { kind: "unclear", message: "the agent ends" };
  if (proven) {
    await cleanUp(tools);
    return { kind: "completed", evidence: PROVEN };
  }
  if (judgeReset(before, now) === "untouched") return { kind: "not_begun" };
  return { kind: "unclear", message: await leftAs(tools) };
}

/** The failure of a reset, with the state that it left the node in. */
async function unclear(tools: Tools, why: string): Promise<StepEnd> {
  return { kind: "failed", code: "reset_failed", message: `${why}; ${await leftAs(tools)}` };
}

/** Puts back what k3s may have overwritten, and tells the state of the node. */
async function leftAs(tools: Tools): Promise<string> {
  const { ports } = tools;
  const back = await patiently(tools, DISK, () => putBackServerToken(ports));
  const token = !back.ok
    ? `; k3s's token cannot be put back: ${back.error.message}`
    : back.value
    ? "; k3s had overwritten its token with the one it was given, which was put back"
    : "";
  if (back.ok) await cleanUp(tools);
  else await removeSnapshotFiles(tools);
  const { before, origin } = stopped(tools.handed);
  return stateOfNode(before, await readDatabase(ports.disk), origin) + token;
}

/** Removes what only the reset needed. */
async function cleanUp(tools: Tools): Promise<void> {
  await removeSnapshotFiles(tools);
  const forgotten = await forgetServerToken(tools.ports);
  if (!forgotten.ok) await tools.say(forgotten.error.message);
}

/** k3s syncs its database, but not the names and certificates beside it. */
async function syncDatabase({ ports }: Tools): Promise<Result<void, DiskError>> {
  for (
    const path of [`${K3S_DATABASE_DIRECTORY}/etcd`, K3S_DATABASE_DIRECTORY, K3S_SERVER_DIRECTORY]
  ) {
    const synced = await ports.disk.syncDirectory(path);
    if (!synced.ok) return synced;
  }
  return ok(undefined);
}
