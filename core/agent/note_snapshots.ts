import { nodeNames, snapshotDirectory, toldOfAll } from "../operations/snapshots/find_snapshots.ts";
import { hashSnapshot } from "../operations/snapshots/hash_snapshot.ts";
import {
  isOwnFile,
  type SnapshotOnNode,
  unknownSnapshots,
  vouchedFor,
} from "../operations/snapshots/unknown_snapshots.ts";
import { whyNotAgent } from "../state/custody.ts";
import type { KnownSnapshot } from "../state/snapshot_record.ts";
import type { BoundContext } from "./context.ts";
import { custodyBy, lookAtCluster } from "./custody.ts";
import type { Waker } from "./waker.ts";

/** Snapshots that one look takes the hashes of: they are on disk together, and the agent may end at any time. */
const AT_ONCE = 10;
/** Larger files are no snapshots: etcd itself advises against more than 8 GB. */
const MAX_BYTES = 16 * 1024 ** 3;

/**
 * Looks for snapshots that k3s took on this node and that snapshots.json lacks, and notes what they are like
 * while nobody else has had them (trust.md T6). `waits`: some are there that are not known to be whole.
 *
 * @param refused files that were found not to be whole snapshots of this cluster; they are not read again
 */
export async function noteSnapshots(
  context: BoundContext,
  refused: Set<string>,
): Promise<"done" | "more" | "waits"> {
  const { ports, snapshots, store, stop } = context;
  const directory = await snapshotDirectory(ports);
  const there = await ownSnapshots(context, directory);
  if (there.length === 0) return "done";
  const known = await snapshots.all();
  if (!known.ok) return "waits";
  const unknown = unknownSnapshots(there, known.value);
  if (unknown.length === 0) return "done";
  // Of another cluster's API nothing is believed.
  const look = await lookAtCluster(ports);
  if (look.seen === null || whyNotAgent(custodyBy(store.state, look)) !== null) return "waits";
  const vouched = vouchedFor(unknown, await toldOfAll(ports) ?? []);
  const noted: KnownSnapshot[] = [];
  for (const one of unknown) {
    // An operation comes first, and what this look found has to be on disk some time.
    if (noted.length === AT_ONCE || stop.aborted || store.state.operation !== null) break;
    const isWhole = vouched.includes(one) ||
      await isWholeOf(context, look.seen, { directory, refused, ...one });
    const hashed = isWhole ? await hashSnapshot(ports, directory, one) : null;
    if (hashed?.ok === true && hashed.value !== null) noted.push(hashed.value);
  }
  if (noted.length === 0) return "waits";
  const kept = await snapshots.note(noted);
  if (!kept.ok) {
    ports.log.write("warn", "snapshots_not_noted", kept.error.message);
    return "waits";
  }
  const names = noted.map(({ name }) => name).join(", ");
  ports.log.write("info", "snapshots_noted", `the SHA-256 of ${names} is in snapshots.json`);
  return "more";
}

/** Whether a file of which k3s tells nothing is a whole snapshot of the cluster. */
async function isWholeOf(
  { ports, stop }: BoundContext,
  kubeSystemUid: string,
  { directory, refused, file, size, modifiedAt }: SnapshotOnNode & {
    readonly directory: string;
    readonly refused: Set<string>;
  },
): Promise<boolean> {
  const print = `${file} ${size} ${modifiedAt}`;
  if (refused.has(print)) return false;
  const look = { texts: [kubeSystemUid], maxBytes: MAX_BYTES, signal: stop };
  const found = await ports.snapshotFile.inspect(`${directory}/${file}`, look);
  if (!found.ok) return false;
  const isWhole = found.value.whole && found.value.facts.texts.includes(kubeSystemUid);
  if (!isWhole) refused.add(print);
  return isWhole;
}

/** The snapshots on the node that k3s took there. What cannot be read is not there. */
async function ownSnapshots(
  { ports, binding }: BoundContext,
  directory: string,
): Promise<readonly SnapshotOnNode[]> {
  const names = await ports.disk.list(directory);
  if (!names.ok || names.value === null || names.value.length === 0) return [];
  const nodes = await nodeNames(ports, { binding });
  const found: SnapshotOnNode[] = [];
  for (const file of names.value.filter((name) => isOwnFile(name, nodes))) {
    const stat = await ports.disk.stat(`${directory}/${file}`);
    if (!stat.ok || stat.value?.kind !== "file") continue;
    const { size, modifiedAt } = stat.value;
    if (size > 0 && size <= MAX_BYTES) found.push({ file, size, modifiedAt });
  }
  return found;
}

/** One look in so many cycles. */
const EVERY = 2;
/** While something waits, a look comes up to 2 to the power of this times later. */
const MOST_DOUBLINGS = 3;

/** Looks again and again, beside the cycles: a large file takes a while to read. Not while an operation runs. */
export function snapshotTask(context: BoundContext, waker: Waker) {
  const { clock, log } = context.ports;
  let due = clock.monotonic() + context.cycleMs;
  let running = false;
  let waited = 0;
  const refused = new Set<string>();
  return {
    due() {
      const { first_start, operation } = context.store.state;
      return running || first_start !== "done" || operation !== null ? null : due;
    },
    run(): Promise<null> {
      running = true;
      void noteSnapshots(context, refused)
        .then((end) => {
          waited = end === "waits" ? Math.min(waited + 1, MOST_DOUBLINGS) : 0;
          const pause = end === "more" ? 1 : EVERY * 2 ** waited;
          due = clock.monotonic() + pause * context.cycleMs;
        })
        .catch((cause) => {
          due = clock.monotonic() + EVERY * context.cycleMs;
          log.write("error", "snapshots_fault", String(cause));
        })
        .finally(() => {
          running = false;
          waker.wake();
        });
      return Promise.resolve(null);
    },
  };
}
