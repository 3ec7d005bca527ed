import { stepHelm } from "../../adapters/fake/helm_controller.ts";
import { k3sDefinitions, namespaceObject, nodeObject } from "../../adapters/fake/kube_seed.ts";
import { snapshotBytes } from "../../adapters/fake/snapshot_bytes.ts";
import type { FakeDisk } from "../../adapters/fake/disk.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K3s, OnLine } from "../../core/ports/k3s.ts";
import type { MachineProcess } from "../../core/ports/machine.ts";
import type { UnitState } from "../../core/ports/systemd.ts";
import type { Random } from "../../core/ports/random.ts";
import { fail, ok } from "../../core/result.ts";
import {
  K3S_CONFIG_FILE,
  K3S_DATABASE_DIRECTORY as DATABASE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_PROGRAM,
  K3S_SERVER_DIRECTORY as SERVER,
  K3S_SNAPSHOT_DIRECTORY,
  K3S_TOKEN_FILE,
} from "../../core/state/paths.ts";
import type { Bucket } from "./bucket.ts";
import { createSimulatedApi, type SimulatedApi } from "./kubernetes.ts";
import type { Observe } from "./node_event.ts";
import { type StepTimes, within } from "./times.ts";

/** k3s on one simulated machine: its unit, its API, its database on the disk, its snapshots. */
export interface Cluster {
  readonly api: SimulatedApi;
  unit(): UnitState;
  isEnabled: boolean;
  /** As `systemctl start`: nothing where the hold stands in the way or it runs. */
  start(): void;
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** The processes of k3s that run. */
  processes(): readonly MachineProcess[];
  /** The machine lost its power or was rebooted: nothing runs. */
  halt(): void;
  /** The program; `isAlive` tells whether the process that runs it still does. */
  program(isAlive: () => boolean): K3s;
}

/** What the cluster needs from its machine. */
export interface ClusterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: FakeDisk;
  readonly bucket: Bucket;
  readonly times: StepTimes;
  readonly nodeName: string;
  readonly observe: Observe;
}

const VERSION = "v1.36.3+k3s1";
const KUBE_SYSTEM = "/api/v1/namespaces/kube-system";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SNAPSHOT_FILES = "/apis/k3s.cattle.io/v1/etcdsnapshotfiles";
const SNAPSHOTS_KEPT = 3;
/** What `k3s_started` says where it starts on half a database. */
export const HALF = "on half a database";
const RESET_DONE = "Managed etcd cluster membership has been reset, restart without " +
  "--cluster-reset flag now.";

/** k3s as the image brings it: installed, never started. */
export function createCluster(options: ClusterOptions): Cluster {
  const { clock, random, disk, bucket, times, nodeName, observe } = options;
  let unit: UnitState = "inactive";
  /** Counts starts and ends, so that what an earlier start set going stops there. */
  let turn = 0;
  let resetting: (() => boolean) | null = null;
  /** A reset was begun and has not come to its end. */
  let isHalf = false;
  const saved: string[] = [];
  let snapshot: { readonly of: string; readonly bytes: Uint8Array } | null = null;

  const api = createSimulatedApi({
    clock,
    onChange(path, removed) {
      observe({ kind: "effect", what: removed ? "removed" : "applied", detail: path });
      if (path.includes("/helmcharts/")) void installCharts();
    },
  });

  function isHeld(): boolean {
    return disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null;
  }

  async function comeUp(): Promise<void> {
    const mine = turn;
    await clock.sleep(within(times.apiUp, random));
    if (mine !== turn) return;
    if (disk.text(`${DATABASE}/etcd/member/wal/0.wal`) === null) makeDatabase();
    void disk.remove(`${DATABASE}/reset-flag`);
    api.trouble = null;
    await clock.sleep(within(times.definitions, random));
    if (mine !== turn) return;
    for (const definition of k3sDefinitions()) {
      const { name } = definition["metadata"] as { readonly name: string };
      if (api.read(`${DEFINITIONS}/${name}`) === null) {
        api.write(`${DEFINITIONS}/${name}`, definition);
      }
    }
    api.write(`/api/v1/nodes/${nodeName}`, nodeObject(nodeName, true));
    void installCharts();
  }

  /** The first start of all: k3s makes its files and its first objects. */
  function makeDatabase(): void {
    const token = configuredToken();
    disk.put(`${DATABASE}/etcd/member/wal/0.wal`, "first");
    disk.put(`${DATABASE}/etcd/name`, `${nodeName}-first`);
    disk.put(`${SERVER}/tls/ca.crt`, "first");
    disk.put(K3S_TOKEN_FILE, `K10${"a".repeat(64)}::server:${token}\n`);
    for (const name of ["default", "kube-system", "kube-node-lease"]) {
      api.write(`/api/v1/namespaces/${name}`, namespaceObject(name));
    }
    api.write(`${KUBE_SYSTEM}/configmaps/kube-root-ca.crt`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kube-root-ca.crt", namespace: "kube-system" },
      data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nsimulated\n-----END CERTIFICATE-----\n" },
    });
  }

  function configuredToken(): string {
    return /^token: *"?([^"\n]*)"?$/m.exec(disk.text(K3S_CONFIG_FILE) ?? "")?.[1] ?? "";
  }

  /** k3s's own controller installs charts, a while after they were applied. */
  async function installCharts(): Promise<void> {
    const mine = turn;
    for (let steps = 0; steps < 2; steps++) {
      await clock.sleep(within(times.chart, random) / 2);
      if (mine !== turn || api.trouble !== null) return;
      stepHelm(api);
    }
    const charts = api.read("/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts")?.["items"];
    for (const chart of Array.isArray(charts) ? charts : []) {
      const { name } = (chart as JsonObject)["metadata"] as { readonly name: string };
      const path = `/apis/apps/v1/namespaces/kube-system/deployments/${name}`;
      if (api.read(path) !== null) continue;
      api.write(path, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace: "kube-system", generation: 1 },
        status: {
          observedGeneration: 1,
          conditions: [{ type: "Available", status: "True" }],
        },
      }, "helm");
    }
  }

  function halt(): void {
    turn += 1;
    unit = "inactive";
    api.trouble = "down";
  }

  function start(): void {
    if (unit === "active" || isHeld()) return;
    turn += 1;
    unit = "active";
    observe({ kind: "effect", what: "k3s_started", detail: isHalf ? HALF : "" });
    void comeUp();
  }

  async function stop(): Promise<void> {
    if (unit !== "active") return;
    halt();
    observe({ kind: "effect", what: "k3s_stopped", detail: "" });
    await clock.sleep(within(times.stop, random));
  }

  /** The same bytes for every snapshot of one database: only the cluster's marks in them count. */
  function bytesOfSnapshot(): Uint8Array {
    const uid = uidOf(api.read(KUBE_SYSTEM));
    const token = configuredToken();
    const of = `${uid} ${token}`;
    if (snapshot?.of !== of) {
      const content = { tokens: [token], k3sVersion: VERSION, texts: [uid], pages: 2 };
      snapshot = { of, bytes: snapshotBytes(content) };
    }
    return snapshot.bytes;
  }

  /** The server takes it, whatever becomes of whoever asked. */
  async function takeSnapshot(name: string): Promise<boolean> {
    const mine = turn;
    await clock.sleep(within(times.snapshot, random));
    if (mine !== turn || api.trouble !== null) return false;
    const file = `${name}-${nodeName}-${Math.floor(clock.now() / 1000)}`;
    const bytes = bytesOfSnapshot();
    disk.put(`${K3S_SNAPSHOT_DIRECTORY}/${file}`, bytes);
    tell(file, "local", bytes.length);
    saved.push(file);
    observe({ kind: "effect", what: "snapshot_taken", detail: file });
    void upload(file, bytes);
    for (const old of saved.splice(0, Math.max(0, saved.length - SNAPSHOTS_KEPT))) {
      void disk.remove(`${K3S_SNAPSHOT_DIRECTORY}/${old}`);
      // One that a power cut brings back would be nowhere but here.
      void disk.syncDirectory(K3S_SNAPSHOT_DIRECTORY);
      for (const place of ["local", "s3"]) api.drop(`${SNAPSHOT_FILES}/${place}-${old}`);
      bucket.drop(old);
    }
    return true;
  }

  async function upload(file: string, bytes: Uint8Array): Promise<void> {
    await clock.sleep(within(times.upload, random));
    const folder = bucket.folder();
    if (folder === null) return;
    bucket.put(`${folder}${file}`, bytes, clock.now());
    tell(file, "s3", bytes.length);
  }

  function tell(file: string, place: "local" | "s3", size: number): void {
    api.write(`${SNAPSHOT_FILES}/${place}-${file}`, {
      apiVersion: "k3s.cattle.io/v1",
      kind: "ETCDSnapshotFile",
      metadata: { name: `${place}-${file}` },
      spec: { snapshotName: file, nodeName, ...(place === "s3" ? { s3: {} } : {}) },
      status: { size: String(size), creationTime: new Date(clock.now()).toISOString() },
    });
  }

  /** What a reset does to the disk, one thing after the other; it ends where its process does. */
  async function reset(isAlive: () => boolean, print: OnLine): Promise<{ code: number }> {
    const now = Math.floor(clock.now() / 1000);
    const stages = [
      () => {
        observe({ kind: "effect", what: "reset_begun", detail: "" });
        isHalf = true;
        moveFolder(`${DATABASE}/etcd`, `${DATABASE}/etcd-old-${now}`);
        disk.put(`${DATABASE}/etcd/.keep`, "");
      },
      () => disk.put(`${DATABASE}/etcd/member/wal/0.wal`, "restored"),
      () => disk.put(`${DATABASE}/etcd/name`, `${nodeName}-${now}`),
      () => disk.put(`${DATABASE}/reset-flag`, ""),
      () => {
        moveFolder(`${SERVER}/tls`, `${SERVER}/tls-${now}`);
        disk.put(`${SERVER}/tls/ca.crt`, "restored");
      },
    ];
    const pause = within(times.reset, random) / stages.length;
    resetting = isAlive;
    for (const stage of stages) {
      await clock.sleep(pause);
      // Killed with the agent, whose child it is.
      if (isAlive()) stage();
    }
    resetting = null;
    if (!isAlive()) return { code: 1 };
    isHalf = false;
    // Back to how it was: what was applied since the snapshot is gone.
    for (const name of ["hcloud", "pbx-etcd-s3"]) api.drop(`${KUBE_SYSTEM}/secrets/${name}`);
    print(RESET_DONE);
    observe({ kind: "effect", what: "reset_done", detail: "" });
    return { code: 0 };
  }

  function moveFolder(from: string, to: string): void {
    for (const path of disk.paths()) {
      if (path.startsWith(`${from}/`)) {
        disk.put(to + path.slice(from.length), disk.text(path) ?? "");
      }
    }
    void disk.remove(from);
    void disk.syncDirectory(from.slice(0, from.lastIndexOf("/")));
  }

  return {
    api,
    isEnabled: false,
    unit: () => unit,
    start,
    stop,
    async restart() {
      await stop();
      start();
    },
    halt,
    processes() {
      const running = unit === "active"
        ? "k3s server"
        : resetting?.() === true
        ? "k3s server --cluster-reset"
        : null;
      return running === null
        ? []
        : [{ pid: 700, commandLine: `${K3S_PROGRAM.replace(/k3s$/, "")}${running}` }];
    },
    program: (isAlive) => ({
      version: () => Promise.resolve(ok(VERSION)),
      async saveSnapshot(name, onLine = () => {}) {
        observe({ kind: "effect", what: "snapshot_begun", detail: name });
        const taken = api.trouble === null && await takeSnapshot(name);
        const output = taken ? `Snapshot ${name} saved.\n` : "connection refused\n";
        onLine(output.trim());
        return ok({ code: taken ? 0 : 1, signal: null, output });
      },
      async resetCluster(asked, onLine = () => {}) {
        if (disk.text(asked.snapshot) === null) {
          const message = `${K3S_PROGRAM}: ${asked.snapshot} does not exist`;
          return fail({ code: "failed", program: K3S_PROGRAM, message });
        }
        const lines: string[] = [];
        const { code } = await reset(isAlive, (line) => {
          lines.push(line);
          onLine(line);
        });
        return ok({ code, signal: null, output: lines.join("\n") });
      },
    }),
  };
}

function uidOf(object: JsonObject | null): string {
  return String((object?.["metadata"] as JsonObject | undefined)?.["uid"] ?? "");
}
