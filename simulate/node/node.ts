import { createFakeBoot } from "../../adapters/fake/boot.ts";
import { createFakeDisk, type FakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeServers } from "../../adapters/fake/servers.ts";
import { createFakeSnapshotFile } from "../../adapters/fake/snapshot_file.ts";
import { runAgent, type RunEnd } from "../../core/agent/run.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Http } from "../../core/ports/http.ts";
import type { Ports } from "../../core/ports/mod.ts";
import type { Random } from "../../core/ports/random.ts";
import type { KeyWork } from "../../core/protocol/key_work.ts";
import { ok } from "../../core/result.ts";
import { parseConfig } from "../../core/state/config.ts";
import { CONFIG_FILE, PROGRAM_FILE } from "../../core/state/paths.ts";
import { rollBack } from "../../core/update/rollback.ts";
import { type CallHook, createCallHooks } from "./call_hook.ts";
import { type Bucket, createBucket } from "./bucket.ts";
import { type Cluster, createCluster } from "./cluster.ts";
import { bootId, layOut } from "./first_files.ts";
import type { Observe } from "./node_event.ts";
import type { NodeName } from "./node_name.ts";
import { observeHttp } from "./observed_http.ts";
import { type Fuse, type Process, startProcess } from "./process.ts";
import {
  createDownloads,
  createPrograms,
  isBroken,
  type SimulatedProgram,
  versionIn,
} from "./program.ts";
import { createServices } from "./services.ts";
import { type StepTimes, USUAL_TIMES, within } from "./times.ts";

/** What a simulated node is made of. */
export interface NodeOptions {
  readonly name: NodeName;
  /** The portal's domain or base URL, as the configuration has it. */
  readonly portal: string;
  /** What proves its answers, base64; none: they need no proof. */
  readonly portalKeys?: readonly string[];
  /** The true time: simulated or real. */
  readonly clock: Clock;
  /** This node's own; the same seed gives the same life. */
  readonly random: Random;
  /** The network, for a program of this version (`User-Agent`). */
  readonly http: (version: string) => Http;
  /** Public keys that manifests are verified with. */
  readonly releaseKeys: readonly Uint8Array[];
  /** The version of the program that the node begins with. */
  readonly version: string;
  /** What can be fetched, by URL; nothing unless told. */
  readonly programs?: ReadonlyMap<string, SimulatedProgram>;
  readonly times?: StepTimes;
  /** How the agent computes what takes long; in JavaScript unless told. */
  readonly keyWork?: KeyWork;
  /** How far cycles are apart, milliseconds; 30 s unless told. */
  readonly cycleMs?: number;
  readonly observe?: Observe;
}

/** One machine with an agent: all of it in memory, the agent the real one. */
export interface SimulatedNode {
  readonly name: NodeName;
  readonly disk: FakeDisk;
  readonly cluster: Cluster;
  readonly bucket: Bucket;
  /** Starts the agent; it is started again by itself whenever it ends, until {@link SimulatedNode.stop}. */
  start(): void;
  /** Ends the agent as a signal does, and waits for that. */
  stop(): Promise<void>;
  /** Kills the agent, or with `power` the machine; both come back by themselves. */
  kill(power?: "lost" | "kept"): void;
  /** Reboots as an administrator does: the agent is ended first. */
  reboot(): Promise<void>;
  /** Has the running agent die at a call of a port to come. */
  setFuse(fuse: Fuse): void;
  /** Has something happen at a call of a port to come, whichever process makes it; null: nothing. */
  atCall(hook: CallHook | null): void;
  /** Sets the machine's clock, milliseconds ahead of the true time. */
  skew(ms: number): void;
  /** Milliseconds that its clock is ahead. */
  clockAhead(): number;
  /** The version of the running program, or of the one that would be started. */
  version(): string;
  isUp(): boolean;
}

/** systemd starts the agent again after this long, milliseconds (`RestartSec`). */
const RESTART_MS = 5_000;
/** A rollback that failed is tried again after this long, milliseconds. */
const ROLLBACK_AGAIN_MS = 10_000;

/** A machine that was just delivered: configured, not started. */
export function createNode(options: NodeOptions): SimulatedNode {
  const { name, random, times = USUAL_TIMES, observe = () => {} } = options;
  let skew = 0;
  const clock: Clock = { ...options.clock, now: () => options.clock.now() + skew };
  const hooks = createCallHooks(clock);
  const disk = createFakeDisk({ now: clock.now });
  const bucket = createBucket({ clock, random, times });
  const nodeName = name.nodeName;
  const cluster = createCluster({ clock, random, disk, bucket, times, nodeName, observe });
  const agent = { isUp: () => process !== null, start, stop };
  const services = createServices({
    clock,
    disk,
    cluster,
    agent,
    rollBack: () => void takeBack(),
    reboot: () => void reboot(),
  });

  let process: Process | null = null;
  let stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  let boots = 0;
  let bootName = bootId(name, boots);
  let bootedAt = clock.monotonic();
  /** Counts starts and boots, so that a start that was planned before does not come on top. */
  let turn = 0;

  function portsFor(version: string, isAlive: () => boolean): Ports {
    const { programs = new Map() } = options;
    const http = observeHttp(options.http(version), clock, (event) => {
      // Bounds what the disk remembers for tests.
      disk.forgetWrites();
      observe(event);
    });
    return {
      clock,
      random,
      disk,
      http,
      k8s: cluster.api,
      systemd: services,
      k3s: cluster.program(isAlive),
      s3: bucket.s3,
      servers: createFakeServers(),
      snapshotFile: createFakeSnapshotFile(disk),
      boot: createFakeBoot(),
      machine: {
        facts: () =>
          Promise.resolve({
            bootId: bootName,
            uptimeSeconds: Math.floor((clock.monotonic() - bootedAt) / 1000),
            kernel: "6.12.0",
            memoryAvailableBytes: 3_072_000_000,
            hostName: name.nodeName,
          }),
        processes: () => Promise.resolve(ok(cluster.processes())),
      },
      metadata: { instanceId: () => Promise.resolve(ok(name.serverId)) },
      artifacts: createDownloads({ clock, random, times, disk, programs, isAlive }),
      programs: createPrograms(disk),
      log: {
        write: (level, event, message, fields = {}) =>
          observe({ kind: "log", level, event, message, fields }),
      },
    };
  }

  function version(): string {
    return versionIn(disk.text(PROGRAM_FILE), options.version);
  }

  function start(): void {
    if (process !== null) return;
    turn += 1;
    const running = version();
    const mine: Process = startProcess(
      portsFor(running, () => mine.isAlive()),
      disk,
      (fuse, at) => fell(fuse.power, at),
      (...call) => hooks.around(() => mine.isAlive(), ...call),
    );
    process = mine;
    stopping = new AbortController();
    observe({ kind: "started", version: running });
    ended = run(mine, running).then((how) => {
      if (process !== mine || !mine.isAlive()) return;
      // With the program ends whatever it still had going.
      mine.kill();
      process = null;
      observe({ kind: "ended", how });
      if (!stopping.signal.aborted) void startIn(RESTART_MS);
    });
  }

  async function run(mine: Process, running: string): Promise<string> {
    if (isBroken(running)) return "crashed: a broken program";
    const config = parseConfig(disk.text(CONFIG_FILE) ?? "");
    if (!config.ok) return `unusable: ${config.error}`;
    try {
      const end: RunEnd = await runAgent({
        ports: mine.ports,
        config: config.value,
        stop: stopping.signal,
        ...options.keyWork,
        ...(options.cycleMs === undefined ? {} : { cycleMs: options.cycleMs }),
        program: {
          version: running,
          arch: "amd64",
          startedAt: new Date(clock.now()).toISOString(),
          releaseKeys: options.releaseKeys,
          sha256: () => Promise.resolve("a".repeat(64)),
        },
      });
      return end.kind === "unusable" ? `unusable: ${end.message}` : end.kind;
    } catch (cause) {
      return `crashed: ${cause instanceof Error ? cause.stack ?? cause.message : String(cause)}`;
    }
  }

  async function startIn(ms: number): Promise<void> {
    const mine = ++turn;
    await clock.sleep(ms);
    if (mine === turn) start();
  }

  async function stop(): Promise<void> {
    turn += 1;
    if (process === null) return;
    stopping.abort();
    await ended;
  }

  /** The agent is dead, and with `power` the machine is off. */
  function fell(power: "lost" | "kept" | null, at: string): void {
    process?.kill();
    process = null;
    observe({ kind: "killed", power, at });
    if (power === null) {
      disk.restart();
      void startIn(RESTART_MS);
      return;
    }
    disk.crash(power);
    void boot();
  }

  async function reboot(): Promise<void> {
    await stop();
    void boot();
  }

  async function boot(): Promise<void> {
    const mine = ++turn;
    services.halt();
    await clock.sleep(within(times.boot, random));
    if (mine !== turn) return;
    boots += 1;
    bootName = bootId(name, boots);
    bootedAt = clock.monotonic();
    observe({ kind: "booted" });
    services.boot();
    start();
  }

  /** What `pbx-agent.prev rollback` does; tried again until it succeeds. */
  async function takeBack(): Promise<void> {
    const mine = boots;
    const isAlive = () => mine === boots;
    while (isAlive()) {
      observe({ kind: "effect", what: "rolled_back", detail: "" });
      const { ports } = startProcess(portsFor(version(), isAlive), disk, () => {});
      const end = await rollBack(ports);
      if (end.ok) return;
      await clock.sleep(ROLLBACK_AGAIN_MS);
    }
  }

  layOut(disk, name, options);
  return {
    name,
    disk,
    cluster,
    bucket,
    start,
    stop,
    kill(power) {
      // Without a process there is nothing to kill: its start, or the machine's, is under way.
      if (power !== undefined || process !== null) fell(power ?? null, "by the simulation");
    },
    reboot,
    setFuse: (fuse) => process?.setFuse(fuse),
    atCall: hooks.set,
    skew(ms) {
      skew = ms;
    },
    clockAhead: () => skew,
    version,
    isUp: () => process !== null,
  };
}
