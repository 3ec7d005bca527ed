import { createFakeClock, type FakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeHttp } from "../../../adapters/fake/http.ts";
import { serve } from "../../../core/agent/serve.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import {
  BOOTSTRAP_FILE,
  IDENTITY_FILE,
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { createMachine, type Machine, NODE, openAgent, START } from "../operations/machine.ts";
import { desiredWith, putPod } from "../operations/servers.ts";
import { createEtcdWorld, type EtcdWorld } from "./etcd_world.ts";
import { createSmallPortal, type SmallPortal } from "./small_portal.ts";

const DB = "/var/lib/rancher/k3s/server/db";
const UID = "00000000-0000-4000-8000-000000000002";

/** One of the servers, with its agent. */
export interface SimServer {
  readonly name: string;
  readonly machine: Machine;
  /** The agent stands still, or goes on. */
  pause(isPaused: boolean): void;
  /** The agent's process is killed; {@link SimServer.boot} starts another. */
  kill(): void;
  boot(): void;
  isAlive(): boolean;
  /** k3s ends, as by a power cut, or starts unless it is held. */
  stopK3s(): void;
  startK3s(): void;
  /** Its database is gone. */
  loseDatabase(): void;
}

/** Servers of one cluster with the real agent on each, in virtual time. */
export interface AgentsWorld {
  readonly clock: FakeClock;
  readonly etcd: EtcdWorld;
  readonly portal: SmallPortal;
  readonly servers: readonly SimServer[];
  /** The portal cannot be reached. */
  outage: boolean;
  /** Ends all agents. */
  stop(): void;
}

/**
 * @param random 0 up to 1, by the seed
 * @param size how many servers the cluster has
 */
export function createAgentsWorld(random: () => number, size = 3): AgentsWorld {
  const clock = createFakeClock({ now: START });
  const delay = () => random() < 0.95 ? random() * 40 : random() * 4_500;
  const box: { etcd?: EtcdWorld } = {};
  const portal = createSmallPortal(clock, () => world.outage);
  const etcd = () => box.etcd ?? missing();
  const servers = Array.from(
    { length: size },
    (_, number) => createServer(number, { clock, portal, etcd, size }),
  );
  box.etcd = createEtcdWorld(
    clock,
    servers.map(({ name, machine }) => ({
      name,
      isRunning: () => machine.systemd.units.get("k3s.service")?.state === "active",
      memberName: () => machine.disk.text(`${DB}/etcd/name`),
      putDatabase: (member: string) => {
        machine.disk.put(`${DB}/etcd/member/wal/0.wal`, member);
        machine.disk.put(`${DB}/etcd/name`, member);
      },
    })),
    delay,
  );
  const { k8s } = box.etcd;
  k8s.installK3sDefinitions();
  const world: AgentsWorld = {
    clock,
    etcd: box.etcd,
    portal,
    servers,
    outage: false,
    stop: () => servers.forEach((server) => server.kill()),
  };
  void runKubelets(world);
  return world;
}

/** Nodes that are Ready and renew their Leases while their k3s is up; a new one registers itself. */
async function runKubelets({ clock, etcd, servers }: AgentsWorld): Promise<void> {
  for (let round = 0; round < 5_000; round++) {
    servers.forEach(({ name }, number) => {
      etcd.tryToJoin(number);
      const path = `/api/v1/nodes/${name}`;
      if (etcd.isUp(number)) {
        etcd.k8s.setNode(name, true);
        const apiVersion = "coordination.k8s.io/v1";
        const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
        const metadata = { name, namespace: "kube-node-lease" };
        etcd.k8s.write(`/apis/${apiVersion}/namespaces/kube-node-lease/leases/${name}`, {
          apiVersion,
          kind: "Lease",
          metadata,
          spec: { renewTime },
        }, "kubelet");
      } else if (etcd.k8s.read(path) !== null) etcd.k8s.setNode(name, false);
    });
    meddle({ etcd, servers }, round);
    await clock.sleep(10_000);
  }
}

/**
 * What others do to the cluster, so that agents have something to write in every cycle: the Secret is
 * changed by hand, Pods come and go, and Nodes that were drained are used again.
 */
function meddle({ etcd, servers }: Pick<AgentsWorld, "etcd" | "servers">, round: number): void {
  const { k8s } = etcd;
  const data = { token: btoa(`changed by hand, round ${round}`) };
  const metadata = { name: "hcloud", namespace: "kube-system" };
  const path = "/api/v1/namespaces/kube-system/secrets/hcloud";
  if (round > 12) k8s.write(path, { apiVersion: "v1", kind: "Secret", metadata, data }, "kubectl");
  for (const pod of itemsOf(k8s.read("/api/v1/pods"))) {
    const { name, deletionTimestamp } = pod["metadata"] as Record<string, string>;
    if (deletionTimestamp !== undefined) k8s.drop(`/api/v1/namespaces/default/pods/${name}`);
  }
  const [server] = servers.slice(round % servers.length);
  if (server === undefined || round % 2 === 1) return;
  putPod({ k8s } as Machine, `web-${round}`, { node: server.name });
  const node = `/api/v1/nodes/${server.name}`;
  if (round % 10 !== 0 || k8s.read(node) === null) return;
  k8s.drop(node);
  k8s.setNode(server.name, true);
}

function itemsOf(list: JsonObject | null): readonly JsonObject[] {
  const items = list?.["items"];
  return Array.isArray(items) ? items as JsonObject[] : [];
}

interface Parts {
  readonly clock: FakeClock;
  readonly portal: SmallPortal;
  readonly size: number;
  etcd(): EtcdWorld;
}

function createServer(number: number, { clock, portal, etcd, size }: Parts): SimServer {
  const name = `demo-${number + 1}`;
  const isHeld = ({ disk }: Machine) =>
    disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null;
  const machine = createMachine(({ systemd, ...rest }) => ({
    clock: { ...clock, monotonic: () => clock.monotonic() + number * 7_654_321 },
    http: createFakeHttp({ clock, peer: portal.peer(name), version: "0.1.0" }),
    systemd: {
      ...systemd,
      start: (unit) =>
        isHeld({ systemd, ...rest } as Machine)
          ? Promise.resolve({ ok: true, value: undefined } as const)
          : systemd.start(unit),
    },
  }));
  layOut(machine, { number, name, size });
  let process = { dead: true, gate: Promise.resolve(), open: () => {} };

  const server: SimServer = {
    name,
    machine,
    pause(isPaused) {
      process.open();
      if (!isPaused) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      Object.assign(process, { gate: promise, open: resolve });
    },
    kill() {
      process.dead = true;
      process.open();
      machine.disk.restart();
    },
    boot() {
      const mine = process = { dead: false, gate: Promise.resolve(), open: () => {} };
      const ports = {
        ...machine.ports,
        k8s: etcd().k8sOf(number),
        servers: etcd().serversOf(number),
      };
      void run(mortal(ports, mine));
    },
    isAlive: () => !process.dead,
    stopK3s: () => setUnit(machine, "inactive"),
    startK3s: () => void (isHeld(machine) || setUnit(machine, "active")),
    loseDatabase: () => void machine.disk.remove(`${DB}/etcd`),
  };
  return server;
}

async function run(ports: Ports): Promise<void> {
  const context = await openAgent(ports);
  // The portal of these tests does not look at signatures.
  await serve({ ...context, sign: () => new Uint8Array(64) }, () => Promise.resolve());
}

/** A process that can be killed and stopped. It stands still when a call has come back, not before one. */
function mortal(ports: Ports, process: { dead: boolean; gate: Promise<void> }): Ports {
  const never = () => new Promise<never>(() => {});
  const wrap = <P extends object>(whole: P): P =>
    Object.fromEntries(
      Object.entries(whole).map(([name, member]) => [
        name,
        typeof member !== "function" ? member : async (...args: unknown[]) => {
          if (process.dead) return await never();
          const answer = await member.apply(whole, args);
          await process.gate;
          return process.dead ? await never() : answer;
        },
      ]),
    ) as P;
  const { clock, random, log, ...others } = ports;
  const wrapped = Object.entries(others).map(([name, port]) => [name, wrap(port)]);
  return {
    ...Object.fromEntries(wrapped),
    clock: { ...clock, sleep: wrap({ sleep: clock.sleep }).sleep },
    random,
    log: { write: (...line) => void (process.dead || log.write(...line)) },
  } as Ports;
}

function setUnit({ systemd }: Machine, state: "active" | "inactive"): void {
  const unit = systemd.units.get("k3s.service");
  if (unit !== undefined) unit.state = state;
}

/** A settled server: its cluster has a Secret to keep, and the first one is joined by the others. */
function layOut(
  machine: Machine,
  { number, name, size }: { readonly number: number; readonly name: string; readonly size: number },
): void {
  const { disk } = machine;
  for (const path of [IDENTITY_FILE, BOOTSTRAP_FILE]) {
    disk.put(path, (disk.text(path) ?? "").replaceAll(`"${NODE}"`, `"${name}"`));
  }
  const secrets = { hcloud: { token: machine.seal("the-token"), network: "net" } };
  const state = JSON.parse(disk.text(STATE_FILE) ?? "");
  disk.put(
    STATE_FILE,
    JSON.stringify({
      ...state,
      kube_system_uid: UID,
      desired: { tag: "tag-1", state: { ...desiredWith(size), secrets } },
    }),
  );
  const joins = number === 0 ? "cluster-init: true" : 'server: "https://10.0.0.1:6443"';
  disk.put(K3S_CONFIG_FILE, `${joins}\ntoken: "k3s-token-in-clear"\nnode-name: "${name}"\n`);
  disk.put(`${DB}/snapshots/one`, "a snapshot");
  disk.put("/var/lib/rancher/k3s/server/tls/server-ca.crt", "PEM");
}

function missing(): never {
  throw new Error("the etcd is not made yet");
}
