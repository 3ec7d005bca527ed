import { createFakeClock, type FakeClock } from "../../adapters/fake/clock.ts";
import { createFakeHttp, type FakePeer } from "../../adapters/fake/http.ts";
import { createFakeS3, type FakeS3 } from "../../adapters/fake/s3.ts";
import type { BoundContext } from "../../core/agent/context.ts";
import { serve } from "../../core/agent/serve.ts";
import {
  K3S_CONFIG_FILE,
  K3S_DATABASE_DIRECTORY as DATABASE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_SERVER_DIRECTORY,
  STATE_FILE,
} from "../../core/state/paths.ts";
import { runKubelets } from "./kubelets.ts";
import { desiredWith } from "./desired.ts";
import { createEtcd, type Etcd } from "./etcd.ts";
import { BUCKET, createMachine, type Machine, openAgent, START } from "./machine.ts";
import { mortal, type Process } from "./mortal.ts";
import { createServerK3s, TOKEN } from "./server_k3s.ts";
import { watchedPorts } from "./watched_ports.ts";

const UID = "00000000-0000-4000-8000-000000000002";

/** One of the servers, with its agent. */
export interface SimServer {
  readonly name: string;
  readonly machine: Machine;
  /** The agent stands still, or goes on. */
  pause(isPaused: boolean): void;
  isPaused(): boolean;
  /** The agent's process is killed; {@link SimServer.boot} starts another. */
  kill(): void;
  boot(): void;
  isAlive(): boolean;
  /**
   * Kills or pauses the agent in the middle of its work, if it still is that process then: when so many
   * calls have come back, counted from the first one of a name, or from now on.
   */
  strikeAt(how: "kill" | "pause", calls: number, after: string | null): void;
  /** What {@link SimServer.strikeAt} planned is off. */
  spare(): void;
  /** The power goes off: the agent and k3s end, and what was not synced is lost. */
  powerOff(): void;
  /** The server boots: k3s (unless it is held) and the agent start. */
  powerOn(): void;
  isOn(): boolean;
  /** Its kubelet falls silent while k3s serves on, or speaks again. */
  silence(isSilent: boolean): void;
  isSilent(): boolean;
  /** k3s ends, as by a power cut, or starts unless it is held. */
  stopK3s(): void;
  startK3s(): void;
  /** Its database is gone. */
  loseDatabase(): void;
  /** Its database cannot be used any more: k3s starts on it and never comes up. */
  breakDatabase(): void;
}

/** Servers of one cluster with the real agent on each, in virtual time. */
export interface ServersWorld {
  readonly clock: FakeClock;
  readonly etcd: Etcd;
  readonly servers: readonly SimServer[];
  /** What agents did that they must never do; nothing, so far. */
  readonly breaches: string[];
  /** Ends all agents. */
  stop(): void;
}

/** What such a world is made of. */
export interface ServersWorldOptions {
  /** How many servers the cluster has. */
  readonly size: number;
  /** 0 up to 1, by the seed. */
  random(): number;
  /** The portal, as the agent of a server reaches it. */
  peer(server: string): FakePeer;
  /** How agents sign. */
  readonly sign: BoundContext["sign"];
  /** Whom they trust releases from; nobody unless told. */
  readonly releaseKeys?: readonly Uint8Array[];
  /** What others do to the cluster, every 10 s. */
  onRound?(world: ServersWorld, round: number): void;
  /** Unless told, time starts anew at {@link START}. */
  readonly clock?: FakeClock;
}

/** Makes the servers. All are on, their k3s runs; no agent does. */
export function createServersWorld(options: ServersWorldOptions): ServersWorld {
  const { size, random, clock = createFakeClock({ now: START }) } = options;
  const delay = () => random() < 0.95 ? random() * 40 : random() * 4_500;
  const box: { etcd?: Etcd } = {};
  const bucket = createFakeS3({ clock, bucket: BUCKET });
  const etcd = () => box.etcd ?? missing();
  const breaches: string[] = [];
  const servers = Array.from(
    { length: size },
    (_, number) => createServer(number, { ...options, clock, bucket, etcd, breaches }),
  );
  box.etcd = createEtcd({
    clock,
    breaches,
    delay,
    hosts: servers.map(({ name, machine }) => ({
      name,
      isRunning: () => machine.systemd.units.get("k3s.service")?.state === "active",
      memberName: () => machine.disk.text(`${DATABASE}/etcd/name`),
      putDatabase: (member: string) => {
        machine.disk.put(`${DATABASE}/etcd/member/wal/0.wal`, member);
        machine.disk.put(`${DATABASE}/etcd/name`, member);
      },
    })),
  });
  const world: ServersWorld = {
    clock,
    etcd: box.etcd,
    servers,
    breaches,
    stop: () => servers.forEach((server) => server.kill()),
  };
  void runKubelets(world, (round) => options.onRound?.(world, round));
  return world;
}

interface Parts extends ServersWorldOptions {
  readonly clock: FakeClock;
  readonly bucket: FakeS3;
  readonly breaches: string[];
  etcd(): Etcd;
}

function createServer(number: number, parts: Parts): SimServer {
  const { clock, bucket, etcd, breaches, peer, size, sign, releaseKeys = [] } = parts;
  const name = `demo-${number + 1}`;
  const isHeld = ({ disk }: Machine) =>
    disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null;
  let process: Process = fresh(true);
  let isOn = true;
  let isSilent = false;
  const machine = createMachine(
    ({ systemd, ...rest }) => ({
      clock: { ...clock, monotonic: () => clock.monotonic() + number * 7_654_321 },
      http: createFakeHttp({ clock, peer: peer(name), version: "0.1.0" }),
      s3: bucket,
      k3s: createServerK3s({
        clock,
        disk: rest.disk,
        bucket,
        name,
        number,
        etcd,
        alive: () => {
          const mine = process;
          return () => !mine.dead;
        },
      }),
      systemd: {
        ...systemd,
        start: (unit) =>
          isHeld({ systemd, ...rest } as Machine)
            ? Promise.resolve({ ok: true, value: undefined } as const)
            : systemd.start(unit),
      },
    }),
    { node: name, agentId: `agent-${number + 1}`, seed: number + 5 },
  );
  layOut(machine, { number, name, size });

  async function run(mine: Process): Promise<void> {
    const ports = {
      ...machine.ports,
      k8s: etcd().k8sOf(number),
      servers: etcd().serversOf(number),
    };
    const watched = watchedPorts(ports, {
      name,
      breaches,
      isMember: () => etcd().isMember(number),
    });
    const context = await openAgent(mortal(watched, mine));
    const program = { ...context.program, releaseKeys };
    await serve({ ...context, program, sign }, () => Promise.resolve());
  }

  const server: SimServer = {
    name,
    machine,
    isPaused: () => process.isPaused,
    pause(isPaused) {
      process.open();
      process.isPaused = isPaused;
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
      const mine = process = fresh(false);
      void run(mine);
    },
    isAlive: () => !process.dead,
    strikeAt(how, calls, after) {
      const strike = () => how === "kill" ? server.kill() : server.pause(true);
      process.planned = { after, calls, strike };
    },
    spare: () => void (process.planned = null),
    powerOff() {
      isOn = false;
      server.kill();
      server.stopK3s();
      machine.disk.crash();
      machine.reboot();
    },
    powerOn() {
      isOn = true;
      server.startK3s();
      server.boot();
    },
    isOn: () => isOn,
    silence: (isQuiet) => void (isSilent = isQuiet),
    isSilent: () => isSilent,
    stopK3s: () => setUnit(machine, "inactive"),
    startK3s: () => void (isHeld(machine) || setUnit(machine, "active")),
    loseDatabase() {
      void machine.disk.remove(`${DATABASE}/etcd`);
      // No power cut brings it back.
      void machine.disk.syncDirectory(DATABASE);
    },
    breakDatabase: () => machine.disk.put(`${DATABASE}/etcd/name`, `${name}-unusable`),
  };
  return server;
}

function fresh(dead: boolean): Process {
  return { dead, isPaused: false, gate: Promise.resolve(), open: () => {}, planned: null };
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
  disk.put(K3S_CONFIG_FILE, `${joins}\ntoken: "${TOKEN}"\nnode-name: "${name}"\n`);
  disk.put(`${DATABASE}/snapshots/one`, "a snapshot");
  disk.put(`${K3S_SERVER_DIRECTORY}/tls/server-ca.crt`, "PEM");
}

function missing(): never {
  throw new Error("the etcd is not made yet");
}
