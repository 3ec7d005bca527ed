import assert from "node:assert/strict";
import { createFakeK3s, type FakeK3s, type K3sEnd } from "../../../adapters/fake/k3s.ts";
import { snapshotBytes, type SnapshotContent } from "../../../adapters/fake/snapshot_bytes.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { ClusterReset, OnLine } from "../../../core/ports/k3s.ts";
import {
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_TOKEN_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { CLUSTER, createMachine, type Machine, NODE } from "./machine.ts";

const SERVER = "/var/lib/rancher/k3s/server";
const DB = `${SERVER}/db`;
/** The local snapshot, and the same in the bucket. */
export const SNAPSHOT = `pbx-op_1-${NODE}-1767000000`;
/** Where the local one is. */
export const LOCAL_SNAPSHOT = `${DB}/snapshots/${SNAPSHOT}`;
/** The token of the machine's configuration. */
export const TOKEN = "k3s-token-in-clear";
/** kube-system's UID, which the snapshot holds. */
export const UID = "00000000-0000-4000-8000-000000000002";
const DONE =
  'level=error msg="Shutdown request received: "Managed etcd cluster membership has been ' +
  'reset, restart without --cluster-reset flag now."';

/**
 * What a reset does to the disk, one thing after the other, as it was seen on a real k3s. A test can stop
 * it after any of them.
 */
export const STAGES = [
  "nothing",
  "etcd moved aside",
  "etcd restored",
  "etcd named",
  "flag written",
  "token overwritten",
  "tls moved aside",
  "words said",
] as const;
export type Stage = (typeof STAGES)[number];

/** How k3s resets. */
export interface Resetting {
  /** The last thing that it does; all of them unless told. */
  until?: Stage;
  exit?: K3sEnd;
  lines?: readonly string[];
}

/** A machine whose cluster can be restored. */
export interface RestoreMachine extends Machine {
  readonly k3s: FakeK3s;
  resetting: Resetting;
  /** What comes up when systemd starts k3s. */
  coming: "restored" | "sqlite" | "another" | "nothing";
}

/** A running cluster with a snapshot, on the node and in the bucket. */
export function createRestoreMachine(
  content: SnapshotContent = {},
  change: (machine: RestoreMachine) => void = () => {},
): RestoreMachine {
  const box: { machine?: RestoreMachine } = {};
  const bare = createMachine((bare) => {
    const { systemd, disk, k8s, clock } = bare;
    const k3s = createFakeK3s("v1.36.3+k3s1", {
      reset: (reset, print) => {
        assert.ok(box.machine);
        return resetting(box.machine, reset, print);
      },
    });
    const start = async (unit: string) => {
      const isHeld = disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null;
      if (isHeld) return { ok: true as const, value: undefined };
      const started = await systemd.start(unit);
      void clock.sleep(5_000).then(() => comeUp(box.machine ?? fail()));
      return started;
    };
    const stop = (unit: string) => {
      k8s.breakWith({ kind: "down" });
      return systemd.stop(unit);
    };
    return { k3s, systemd: { ...systemd, start, stop } };
  });
  const machine: RestoreMachine = {
    ...bare,
    k3s: bare.ports.k3s as FakeK3s,
    resetting: {},
    coming: "restored",
    reboot() {
      bare.reboot();
      const unit = bare.systemd.units.get("k3s.service");
      const isHeld = bare.disk.text(K3S_HOLD_FILE) !== null &&
        bare.disk.text(K3S_HOLD_DROP_IN) !== null;
      if (unit !== undefined) unit.state = isHeld ? "inactive" : "active";
      bare.k8s.breakWith(isHeld ? { kind: "down" } : null);
    },
  };
  box.machine = machine;
  const { disk, s3, k8s } = machine;
  const snapshot = snapshotBytes({
    tokens: [TOKEN],
    k3sVersion: "v1.36.3+k3s1",
    texts: [UID],
    ...content,
  });
  disk.put(`${DB}/etcd/member/wal/0.wal`, "old");
  disk.put(`${DB}/etcd/name`, "demo-1-aa");
  disk.put(`${SERVER}/tls/ca.crt`, "old");
  disk.put(K3S_TOKEN_FILE, `K10${"a".repeat(64)}::server:${TOKEN}\n`);
  disk.put(K3S_CONFIG_FILE, `# ours\ncluster-init: true\ntoken: "${TOKEN}"\n`);
  disk.put(LOCAL_SNAPSHOT, snapshot);
  s3.put(`${CLUSTER}/${SNAPSHOT}`, snapshot);
  const state = JSON.parse(disk.text(STATE_FILE) ?? "");
  disk.put(STATE_FILE, JSON.stringify({ ...state, kube_system_uid: uidOf(machine) }));
  assert.equal(uidOf(machine), UID, "the fake API gives kube-system this UID");
  k8s.setNode("gone-1", false);
  k8s.setNode("alive-1", true);
  lease(machine, "gone-1", 0);
  lease(machine, "alive-1", 0);
  change(machine);
  return machine;
}

/** kube-system's UID as the fake API has it. */
export function uidOf({ k8s }: Machine): string {
  const metadata = k8s.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject;
  return String(metadata["uid"]);
}

/** Renews the Lease of a node. */
export function lease({ k8s, clock }: Machine, name: string, at = clock.now()): void {
  const apiVersion = "coordination.k8s.io/v1";
  const namespace = "kube-node-lease";
  const renewTime = new Date(at).toISOString().replace("Z", "000Z");
  k8s.write(`/apis/${apiVersion}/namespaces/${namespace}/leases/${name}`, {
    apiVersion,
    kind: "Lease",
    metadata: { name, namespace },
    spec: { renewTime },
  }, "kubelet");
}

/** What the program does until it ends or is ended. */
async function resetting(
  machine: RestoreMachine,
  reset: ClusterReset,
  print: OnLine,
): Promise<K3sEnd> {
  const { until = "words said", exit = { code: until === "words said" ? 0 : 1 }, lines = [] } =
    machine.resetting;
  assert.notEqual(machine.systemd.units.get("k3s.service")?.state, "active", "a k3s runs");
  applyReset(machine, reset, until);
  for (const line of lines) print(line);
  if (until === "words said") print(DONE);
  await machine.clock.sleep(7_000);
  return exit;
}

/** Leaves the disk as a reset does that ended after a stage. */
export function applyReset(machine: RestoreMachine, reset: ClusterReset, until: Stage): void {
  const { disk, clock } = machine;
  const snapshot = disk.text(reset.snapshot);
  const now = Math.floor(clock.now() / 1000);
  const last = STAGES.indexOf(until);
  const does = (stage: Stage) => STAGES.indexOf(stage) <= last;
  if (does("etcd moved aside")) {
    move(machine, `${DB}/etcd`, `${DB}/etcd-old-${now}`);
    disk.put(`${DB}/etcd/.keep`, "");
  }
  if (does("etcd restored")) {
    assert.ok(snapshot !== null, "the snapshot is there");
    disk.put(`${DB}/etcd/member/wal/0.wal`, "restored");
  }
  if (does("etcd named")) disk.put(`${DB}/etcd/name`, "demo-1-bb");
  if (does("flag written")) disk.put(`${DB}/reset-flag`, "");
  if (does("token overwritten")) {
    const token = reset.tokenFile === undefined ? TOKEN : disk.text(reset.tokenFile)?.trim();
    disk.put(K3S_TOKEN_FILE, `K10${"a".repeat(64)}::server:${token}\n`);
  }
  if (does("tls moved aside")) {
    move(machine, `${SERVER}/tls`, `${SERVER}/tls-${now}`);
    disk.put(`${SERVER}/tls/ca.crt`, "restored");
  }
}

/** Moves a folder, and lets it last. */
function move({ disk }: Machine, from: string, to: string): void {
  for (const path of disk.paths()) {
    if (!path.startsWith(`${from}/`)) continue;
    disk.put(to + path.slice(from.length), disk.text(path) ?? "");
  }
  dropFolder(disk, from);
}

function dropFolder(disk: Machine["disk"], path: string): void {
  const parent = path.slice(0, path.lastIndexOf("/"));
  void disk.remove(path);
  void disk.syncDirectory(parent);
}

/** What the started k3s does: its API comes up, its flag goes, its nodes renew their Leases. */
function comeUp(machine: RestoreMachine): void {
  const { k8s, disk, clock, coming, systemd } = machine;
  if (systemd.units.get("k3s.service")?.state !== "active" || coming === "nothing") return;
  if (coming === "sqlite") disk.put(`${DB}/state.db`, "empty");
  k8s.breakWith(null);
  dropFolder(disk, `${DB}/reset-flag`);
  lease(machine, NODE);
  const renew = async () => {
    for (let times = 0; times < 20; times++) {
      await clock.sleep(10_000);
      if (await k8s.ready()) lease(machine, "alive-1");
    }
  };
  void renew();
}

function fail(): never {
  throw new Error("the machine is not made yet");
}
