import assert from "node:assert/strict";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import type { EtcdMember } from "../../../core/ports/servers.ts";
import {
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { createMachine, type Machine, NODE } from "./machine.ts";
import { withServers } from "./servers.ts";

export const DB = "/var/lib/rancher/k3s/server/db";
/** Every k3s that has run as a server has it. */
export const CERTIFICATE = "/var/lib/rancher/k3s/server/tls/server-ca.crt";
/** The server that the machine's k3s joins. */
export const FIRST = "https://10.0.0.2:6443";
export const TOKEN = "k3s-token-in-clear";
export const UID = "00000000-0000-4000-8000-000000000002";
const OWN = `${NODE}-aaaaaaaa`;

/** A member of the fake etcd. */
export interface Peer extends EtcdMember {
  healthy: boolean;
}

/** One of three servers, which joined the first one. */
export interface RejoinMachine extends Machine {
  /** The cluster's etcd; the machine's own member is healthy while its k3s runs on its database. */
  readonly peers: Peer[];
  /** The one that is neither this server nor the one that it joins. */
  readonly third: Peer;
  /** kube-system's UID as the first server shows it. */
  firstUid: string;
  /** What k3s comes up as without a database. */
  coming: "joined" | "sqlite" | "another" | "nothing";
  /** That a member was taken out is never heard. */
  isAnswerLost: boolean;
  /** Members that were taken out of etcd, in order. */
  readonly removed: string[];
  /** Whether a majority of the members is healthy. */
  hasMajority(): boolean;
}

/** Such a machine, whose cluster is whole. */
export function createRejoinMachine(change: (machine: RejoinMachine) => void = () => {}) {
  const box: { machine?: RejoinMachine } = {};
  const world = () => box.machine ?? fail();
  const third = peer("demo-3-cccccccc", 3);
  const peers = [peer(OWN, 1), peer("demo-2-bbbbbbbb", 2), third];
  const removed: string[] = [];
  const bare = createMachine(({ systemd, disk, k8s, clock }) => {
    const isHeld = () => disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null;
    return {
      systemd: {
        ...systemd,
        async start(unit) {
          if (isHeld()) return { ok: true, value: undefined };
          const started = await systemd.start(unit);
          void clock.sleep(1_000).then(() => comeUp(world()));
          return started;
        },
        stop(unit) {
          k8s.breakWith({ kind: "down" });
          return systemd.stop(unit);
        },
      },
      servers: createFakeServers({
        look: (url, token) => {
          if (token.reveal() !== TOKEN) return "refused";
          const first = peers.find(({ name }) => name.startsWith("demo-2-"));
          const answers = url === FIRST && first?.healthy === true && world().hasMajority();
          return answers ? { kubeSystemUid: world().firstUid, members: [...peers] } : null;
        },
        isHealthy: ({ id }) => isHealthy(world(), peers.find((each) => each.id === id)),
        remove: ({ id, name }, through) => {
          if (!world().hasMajority() || through.isLearner) return false;
          const at = peers.findIndex((each) => each.id === id);
          if (at >= 0) peers.splice(at, 1);
          removed.push(name);
          return !world().isAnswerLost;
        },
      }),
    };
  });
  const machine: RejoinMachine = {
    ...bare,
    peers,
    third,
    removed,
    firstUid: UID,
    coming: "joined",
    isAnswerLost: false,
    hasMajority: () => {
      const voters = peers.filter(({ isLearner }) => !isLearner);
      return voters.filter((each) => isHealthy(world(), each)).length * 2 > voters.length;
    },
    reboot() {
      bare.reboot();
      const isHeld = bare.disk.text(K3S_HOLD_FILE) !== null &&
        bare.disk.text(K3S_HOLD_DROP_IN) !== null;
      const unit = bare.systemd.units.get("k3s.service");
      if (unit !== undefined) unit.state = isHeld ? "inactive" : "active";
      bare.k8s.breakWith({ kind: "down" });
      if (!isHeld) comeUp(world());
    },
  };
  box.machine = machine;
  const { disk } = machine;
  disk.put(K3S_CONFIG_FILE, `server: "${FIRST}/"\ntoken: "${TOKEN}"\n`);
  disk.put(`${DB}/etcd/member/wal/0.wal`, "old");
  disk.put(`${DB}/etcd/name`, OWN);
  disk.put(CERTIFICATE, "PEM");
  disk.put(`${DB}/reset-flag`, "");
  disk.put(`${DB}/snapshots/one`, "a snapshot");
  withServers(machine);
  const state = JSON.parse(disk.text(STATE_FILE) ?? "");
  disk.put(STATE_FILE, JSON.stringify({ ...state, kube_system_uid: UID }));
  change(machine);
  return machine;
}

function peer(name: string, number: number, healthy = true): Peer {
  const clientUrls = [`https://10.0.0.${number}:2379`];
  return { id: `1844674407370955161${number}`, name, clientUrls, isLearner: false, healthy };
}

function isHealthy({ disk, systemd }: RejoinMachine, member: Peer | undefined): boolean {
  if (member === undefined) return false;
  if (!member.name.startsWith(`${NODE}-`)) return member.healthy;
  return systemd.units.get("k3s.service")?.state === "active" &&
    disk.text(`${DB}/etcd/name`) === member.name;
}

/** What a k3s that was started does: it goes on with its database, or joins where it has none. */
function comeUp(machine: RejoinMachine): void {
  const { disk, systemd, k8s, peers, coming } = machine;
  if (systemd.units.get("k3s.service")?.state !== "active") return;
  const name = disk.text(`${DB}/etcd/name`);
  if (name !== null) {
    // A member that was taken out does not come up.
    if (peers.some((each) => each.name === name) && machine.hasMajority()) k8s.breakWith(null);
    return;
  }
  if (coming === "nothing") return;
  if (coming === "sqlite") disk.put(`${DB}/state.db`, "empty");
  else {
    // k3s refuses a second member of the same node's name.
    if (peers.some((each) => each.name.startsWith(`${NODE}-`))) return;
    const next = `${NODE}-dddddddd`;
    disk.put(`${DB}/etcd/member/wal/0.wal`, "joined");
    disk.put(`${DB}/etcd/name`, next);
    peers.push(peer(next, 4));
  }
  k8s.breakWith(null);
}

function fail(): never {
  throw new Error("the machine is not made yet");
}

/** The server is in again, with nothing of its old database but the snapshots. */
export function assertJoined({ disk, systemd, peers }: RejoinMachine): void {
  assert.equal(disk.text(`${DB}/etcd/member/wal/0.wal`), "joined");
  assert.equal(disk.text(`${DB}/snapshots/one`), "a snapshot");
  const below = disk.paths().filter((path) => path.startsWith(`${DB}/`));
  assert.deepEqual(below.filter((path) => !/\/(snapshots|etcd)\//.test(path)), []);
  assert.equal(systemd.units.get("k3s.service")?.state, "active");
  assert.deepEqual([disk.text(K3S_HOLD_FILE), disk.text(K3S_HOLD_DROP_IN)], [null, null]);
  assert.equal(peers.length, 3);
}
