import { isK3sQuiet } from "../../host/k3s_processes.ts";
import { writeDocument } from "../../state/durable.ts";
import {
  K3S_DATABASE_DIRECTORY,
  K3S_SERVER_DIRECTORY,
  K3S_SNAPSHOT_DIRECTORY,
} from "../../state/paths.ts";
import type { Probe, StepEnd, StepTools } from "../definition.ts";
import { sayLines } from "../say_lines.ts";
import { judgeReset, readDatabase } from "./database.ts";
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
  const held = await placeHold(
    ports,
    holdWords("cluster.restore", id, "its reset succeeded"),
    wantedCluster(tools),
  );
  if (!held.ok) return await notBegun(held.error.message);
  const snapshot = await readySnapshot(tools);
  if (!snapshot.ok) return await notBegun(snapshot.error);
  const kept = await keepServerToken(ports);
  if (!kept.ok) return await notBegun(`k3s's token cannot be kept: ${kept.error}`);
  if (params.token !== null) {
    const bytes = new TextEncoder().encode(open(params.token).reveal());
    const written = await writeDocument(ports.disk, GIVEN_TOKEN_FILE, bytes);
    if (!written.ok) return await notBegun(written.error.message);
  }
  // k3s fails where it is missing (k3s fact H).
  await ports.disk.makeDirectory(K3S_SNAPSHOT_DIRECTORY, 0o700);

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

  const now = await readDatabase(ports.disk);
  const isDone = exit.ok && exit.value.code === 0 && saidDone;
  if (isDone && judgeReset(before, now) === "reset") {
    await syncDatabase(tools);
    const receipt = await writeReceipt(ports.disk, id, params.snapshot, now);
    if (!receipt.ok) {
      return await unclear(tools, `its proof cannot be kept: ${receipt.error.message}`);
    }
    await cleanUp(tools);
    return { kind: "done", evidence: PROVEN };
  }
  const why = exit.ok ? whyResetFailed(exit.value.output) : exit.error.message;
  const how = exit.ok ? `k3s ended with ${exit.value.code ?? exit.value.signal}: ${why}` : why;
  return await unclear(tools, isDone ? `${how}; its words and the disk do not agree` : how);
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
  const now = await readDatabase(ports.disk);
  const proven = await isProven(ports.disk, id, now);
  if (!proven.ok) return { kind: "unclear", message: proven.error.message };
  if (proven.value) {
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
  const back = await putBackServerToken(ports);
  const token = !back.ok
    ? `; k3s's token cannot be put back: ${back.error}`
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
  if (!forgotten.ok) await tools.say(forgotten.error);
}

/** k3s syncs its database, but not the names and certificates beside it. */
async function syncDatabase({ ports }: Tools): Promise<void> {
  for (
    const path of [`${K3S_DATABASE_DIRECTORY}/etcd`, K3S_DATABASE_DIRECTORY, K3S_SERVER_DIRECTORY]
  ) {
    await ports.disk.syncDirectory(path);
  }
}
