import type { FakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeK3s, type K3sEnd } from "../../adapters/fake/k3s.ts";
import type { FakeS3 } from "../../adapters/fake/s3.ts";
import { snapshotBytes } from "../../adapters/fake/snapshot_bytes.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { ClusterReset, K3s, OnLine } from "../../core/ports/k3s.ts";
import {
  K3S_DATABASE_DIRECTORY as DATABASE,
  K3S_SERVER_DIRECTORY as SERVER,
  K3S_SNAPSHOT_DIRECTORY,
} from "../../core/state/paths.ts";
import type { Etcd } from "./etcd.ts";
import { CLUSTER } from "./machine.ts";

/** The token of every server's configuration. */
export const TOKEN = "k3s-token-in-clear";

/** What the program needs of its server. */
export interface ServerK3sOptions {
  readonly clock: Clock;
  readonly disk: FakeDisk;
  readonly bucket: FakeS3;
  readonly name: string;
  /** Its number in the etcd. */
  readonly number: number;
  etcd(): Etcd;
  /** Whether the agent that runs the program is still there: it ends with it. */
  alive(): () => boolean;
}

const VERSION = "v1.36.3+k3s1";
const SAVE_MS = 2_000;
/** How long each part of a reset takes, milliseconds. */
const PART_MS = 1_500;
const FILES = "/apis/k3s.cattle.io/v1/etcdsnapshotfiles";
const RESET_DONE = "Managed etcd cluster membership has been reset, restart without " +
  "--cluster-reset flag now.";

/** The program k3s on one of several servers: it takes snapshots, and resets the cluster to one. */
export function createServerK3s(options: ServerK3sOptions): K3s {
  const { clock, disk, bucket, name, number, etcd, alive } = options;

  async function save(asked: string): Promise<K3sEnd> {
    if (!etcd().isUp(number)) return { code: 1 };
    await clock.sleep(SAVE_MS);
    const store = etcd().shownBy(number);
    if (store === null) return { code: 1 };
    const namespace = store.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject;
    const bytes = snapshotBytes({
      tokens: [TOKEN],
      k3sVersion: VERSION,
      texts: [String(namespace["uid"]), etcd().keep(number)],
    });
    const file = `${asked}-${name}-${Math.floor(clock.now() / 1000)}`;
    disk.put(`${K3S_SNAPSHOT_DIRECTORY}/${file}`, bytes);
    bucket.put(`${CLUSTER}/${file}`, bytes);
    for (const place of ["local", "s3"]) {
      store.write(`${FILES}/${place}-${file}`, {
        apiVersion: "k3s.cattle.io/v1",
        kind: "ETCDSnapshotFile",
        metadata: { name: `${place}-${file}` },
        spec: { snapshotName: file, nodeName: name, ...(place === "s3" ? { s3: {} } : {}) },
        status: {
          size: String(bytes.length),
          creationTime: new Date(clock.now()).toISOString(),
        },
      }, "k3s");
    }
    return { code: 0 };
  }

  /** Leaves the disk as a real reset does, one thing after the other (k3s fact D). */
  async function reset({ snapshot }: ClusterReset, print: OnLine): Promise<K3sEnd> {
    const isAlive = alive();
    const kept = /kept-objects-[0-9]+\./.exec(disk.text(snapshot) ?? "")?.[0];
    if (kept === undefined) return { code: 1 };
    const now = Math.floor(clock.now() / 1000);
    const parts = [
      () => {
        move(disk, `${DATABASE}/etcd`, `${DATABASE}/etcd-old-${now}`);
        disk.put(`${DATABASE}/etcd/.keep`, "");
      },
      () => disk.put(`${DATABASE}/etcd/member/wal/0.wal`, "restored"),
      () => disk.put(`${DATABASE}/etcd/name`, etcd().reset(number, kept)),
      () => disk.put(`${DATABASE}/reset-flag`, ""),
      () => {
        move(disk, `${SERVER}/tls`, `${SERVER}/tls-${now}`);
        disk.put(`${SERVER}/tls/server-ca.crt`, "PEM");
      },
    ];
    for (const part of parts) {
      await clock.sleep(PART_MS);
      if (!isAlive()) return { code: 1 };
      part();
    }
    print(RESET_DONE);
    return { code: 0 };
  }

  return createFakeK3s(VERSION, { save, reset });
}

function move(disk: FakeDisk, from: string, to: string): void {
  for (const path of disk.paths()) {
    if (path.startsWith(`${from}/`)) disk.put(to + path.slice(from.length), disk.text(path) ?? "");
  }
  void disk.remove(from);
  void disk.syncDirectory(from.slice(0, from.lastIndexOf("/")));
}
