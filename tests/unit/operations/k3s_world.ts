import { createFakeK3s, type FakeK3s, type K3sEnd } from "../../../adapters/fake/k3s.ts";
import { snapshotBytes, zipBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { OnLine } from "../../../core/ports/k3s.ts";
import { CLUSTER, createMachine, type Machine, NODE } from "./machine.ts";

/** Where the fake k3s keeps its snapshots. */
export const SNAPSHOTS = "/var/lib/rancher/k3s/server/db/snapshots";

/** How k3s takes the next snapshots. Each is true to something seen on a real one. */
export interface Saving {
  /** What the program says in the end. */
  exit?: K3sEnd;
  lines?: readonly string[];
  /** Whether the file is on the node. */
  local?: boolean;
  /** What becomes of the upload. */
  upload?: "done" | "fails" | "never" | "empty" | "short";
  /** How much later than the program's end everything shows, milliseconds. */
  laterMs?: number;
  zip?: boolean;
}

/** A machine whose k3s takes snapshots. */
export interface SavingMachine extends Machine {
  readonly k3s: FakeK3s;
  /** How it takes them; once for each run where it is a list, whose last one stays. */
  saving: Saving | Saving[];
}

/** A machine with a bucket, whose k3s saves to it. */
export function createSavingMachine(first: Saving | Saving[] = {}): SavingMachine {
  const box: { saving: Saving | Saving[]; k3s?: FakeK3s } = { saving: first };
  const machine = createMachine((bare) => {
    box.k3s = createFakeK3s("v1.36.3+k3s1", {
      save: (name, print) => {
        const { saving } = box;
        const now = Array.isArray(saving)
          ? (saving.length > 1 ? saving.shift() : saving[0])
          : saving;
        return save(bare, name, now ?? {}, print);
      },
    });
    return { k3s: box.k3s };
  });
  machine.disk.put(`${SNAPSHOTS}/.keep`, "");
  const { k3s } = box;
  if (k3s === undefined) throw new Error("the machine has no k3s");
  return Object.defineProperty({ ...machine, k3s, saving: first }, "saving", {
    get: () => box.saving,
    set: (next) => void (box.saving = next),
  });
}

/** What the run of the program does, and its server afterwards. */
export async function save(
  machine: Machine,
  name: string,
  saving: Saving,
  print: OnLine,
): Promise<K3sEnd> {
  const { exit = { code: 0 }, lines = [`Snapshot ${name} saved.`], laterMs = 0 } = saving;
  for (const line of lines) print(line);
  if (laterMs === 0) show(machine, name, saving);
  else void machine.clock.sleep(laterMs).then(() => show(machine, name, saving));
  await machine.clock.sleep(500);
  return exit;
}

function show(machine: Machine, name: string, saving: Saving): void {
  const { local = true, upload = "done", zip = false } = saving;
  const { disk, s3, clock } = machine;
  const plain = snapshotBytes({ texts: [name] });
  const bytes = zip ? zipBytes([{ name, bytes: plain }]) : plain;
  const file = `${name}-${NODE}-${Math.floor(clock.now() / 1000)}${zip ? ".zip" : ""}`;
  const size = bytes.length;
  const createdAt = new Date(Math.floor(clock.now() / 1000) * 1000).toISOString();
  if (local) {
    disk.put(`${SNAPSHOTS}/${file}`, bytes);
    write(machine, `local-${file}`, resource(file, { size: String(size), createdAt }));
  }
  if (upload === "done") s3.put(`${CLUSTER}/${file}`, bytes);
  if (upload === "empty") s3.put(`${CLUSTER}/${file}`, new Uint8Array());
  if (upload === "short") s3.put(`${CLUSTER}/${file}`, bytes.slice(0, 100));
  if (upload === "never") return;
  const error = { message: "Put: connection reset by peer", time: createdAt };
  const status = upload === "fails" ? { error, createdAt } : { size: String(size), createdAt };
  write(machine, `s3-${file}`, resource(file, status, { bucket: "snapshots" }));
}

function write({ k8s }: Machine, name: string, object: JsonObject): void {
  const lower = name.toLowerCase().replaceAll("_", "-");
  const path = `/apis/k3s.cattle.io/v1/etcdsnapshotfiles/${lower}`;
  k8s.write(path, { ...object, metadata: { name: lower } }, "k3s");
}

function resource(
  file: string,
  { createdAt, ...status }: { size?: string; error?: JsonObject; createdAt: string },
  s3?: JsonObject,
): JsonObject {
  return {
    apiVersion: "k3s.cattle.io/v1",
    kind: "ETCDSnapshotFile",
    spec: { snapshotName: file, nodeName: NODE, ...(s3 === undefined ? {} : { s3 }) },
    status: { creationTime: createdAt, readyToUse: status.error === undefined, ...status },
  };
}
