import assert from "node:assert/strict";
import { createFakeArtifacts, type FakeArtifacts } from "../../../adapters/fake/artifacts.ts";
import { createFakeBoot } from "../../../adapters/fake/boot.ts";
import { createFakeClock, type FakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeHttp } from "../../../adapters/fake/http.ts";
import { createFakeK3s } from "../../../adapters/fake/k3s.ts";
import { createFakeK8s, type FakeK8s } from "../../../adapters/fake/k8s.ts";
import { createFakeLog, type FakeLog } from "../../../adapters/fake/log.ts";
import { createFakeMachine, type FakeMachine } from "../../../adapters/fake/machine.ts";
import { createFakeMetadata, type FakeMetadata } from "../../../adapters/fake/metadata.ts";
import { createFakePrograms } from "../../../adapters/fake/programs.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { createFakeS3 } from "../../../adapters/fake/s3.ts";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import { createFakeSnapshotFile } from "../../../adapters/fake/snapshot_file.ts";
import { createFakeSystemd, type FakeSystemd } from "../../../adapters/fake/systemd.ts";
import { createNativeKeyWork } from "../../../adapters/native_key_work.ts";
import { runAgent, type RunEnd } from "../../../core/agent/run.ts";
import { readStatus, type Status } from "../../../core/agent/status.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import type { SyncRequest } from "../../../core/protocol/sync.ts";
import { Secret } from "../../../core/secret.ts";
import { parseConfig } from "../../../core/state/config.ts";
import { CONFIG_FILE, K3S_PROGRAM, PROGRAM_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { mortalPorts, type Process } from "./mortal.ts";
import {
  createPortalInside,
  NODE,
  PORTAL_KEY,
  type PortalInside,
  RELEASE_PUBLIC_KEYS,
  SERVER,
} from "./portal_inside.ts";

/** The start of every test: a Thursday night in Berlin, between its cluster's maintenance windows. */
export const START = Date.parse("2026-01-01T12:00:00Z");
/** By the runtime: a contract says that it computes what JavaScript does (tests/contract/key_work_test.ts). */
const KEY_WORK = createNativeKeyWork();
/** How long the fake k3s takes from its start to an API that answers, milliseconds. */
const API_AFTER_MS = 3_000;

/** An agent on a machine of fakes, beside a portal without a network. Time stands still between calls. */
export interface World {
  readonly clock: FakeClock;
  readonly disk: FakeDisk;
  readonly k8s: FakeK8s;
  readonly systemd: FakeSystemd;
  readonly machine: FakeMachine;
  readonly metadata: FakeMetadata;
  readonly log: FakeLog;
  readonly portal: PortalInside;
  readonly artifacts: FakeArtifacts;
  /** Starts the program that is in its place, of version 0.1.0 where there is none; with `wrap` on ports that a test changes. */
  start(wrap?: (ports: Ports) => Ports): Process;
  /** Lets time pass. Fails where the program ended meanwhile with an error. */
  pass(ms: number): Promise<void>;
  /** Sends the signal that ends the program, and waits for its end without any time passing. */
  stop(): Promise<RunEnd>;
  /**
   * Kills the program, or the machine: a power cut that names that were not synced do not survive
   * (`lost`) or do (`kept`). The machine boots again without the agent, which a test starts.
   */
  kill(power?: "lost" | "kept"): void;
  /** Another boot: another boot ID, and k3s started only where it is enabled. */
  reboot(): void;
  /** How the program ended, or null while it runs. */
  ended(): RunEnd | { readonly kind: "crashed"; readonly error: unknown } | null;
  /** The bodies of all syncs so far, oldest first. */
  reports(): SyncRequest[];
  /** The newest report. */
  lastReport(): SyncRequest;
  /** Requests to a path below the base so far, such as `/sync`. */
  requests(path: string): number;
  /** How each request was signed, oldest first; empty where it was not. */
  signed(): { readonly timestamp: string; readonly signature: string }[];
  /** Headers of the requests to a path below the base, oldest first. */
  sent(path: string): Readonly<Record<string, string>>[];
  /** Every sync so far as it was signed, oldest first. */
  syncs(): {
    readonly path: string;
    readonly timestamp: string;
    readonly signature: string;
    readonly body: Uint8Array;
  }[];
  /** What state.json holds. */
  // deno-lint-ignore no-explicit-any -- tests look into files of every shape
  stored(path?: string): any;
  status(): Promise<Status>;
  /** Codes of the conditions in the newest report. */
  conditions(): string[];
}

/** The text of a configuration as cloud-init writes it. */
export function configYaml(token: string): string {
  return [
    "# written by cloud-init",
    "portal: example.com",
    "cluster_id: demo",
    `node_name: ${NODE}  # this node`,
    `enrollment_token: ${token}`,
    "# the end",
    "",
  ].join("\n");
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly releaseKeys?: readonly Uint8Array[];
  /** config.yaml has `portal_keys`: every answer has to be proven. */
  readonly hasPortalKeys?: boolean;
}

/** A fresh server with its configuration, not started yet. */
export function createWorld(options: WorldOptions = {}): World {
  const clock = createFakeClock({ now: START });
  const disk = createFakeDisk({ now: clock.now });
  const k8s = createFakeK8s({ clock });
  const systemd = createFakeSystemd({ units: { "k3s.service": {} } });
  const log = createFakeLog({ now: clock.now });
  const machine = createFakeMachine();
  const metadata = createFakeMetadata(SERVER);
  const portal = createPortalInside(clock);
  const artifacts = createFakeArtifacts(disk);
  const http = createFakeHttp({
    clock,
    peer: (request) =>
      portal.peer({
        ...request,
        headers: { ...request.headers, "User-Agent": `pbx-agent/${version}` },
      }),
    version: "0.1.0",
  });
  const s3 = createFakeS3({
    clock,
    bucket: {
      endpoint: "s3.test",
      bucket: "snapshots",
      region: "lab-1",
      accessKey: new Secret("ACCESSKEY"),
      secretKey: new Secret("secret-key"),
    },
  });
  const random = createFakeRandom(1);
  let stop = new AbortController();
  let end: ReturnType<World["ended"]> = null;
  let run: Promise<void> = Promise.resolve();
  let process: Process | null = null;
  let boots = 0;
  let bootedAt = 0;
  let version = "0.1.0";

  function layOut(): void {
    const keys = options.hasPortalKeys === true ? `portal_keys: [${PORTAL_KEY}]\n` : "";
    disk.put(CONFIG_FILE, configYaml(portal.token()) + keys);
    disk.put(K3S_PROGRAM, "k3s", 0o755);
    disk.put("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 13"\n', 0o644);
    disk.put("/var/lib/keep", "");
    nextBoot();
    k8s.breakWith({ kind: "down" });
  }

  function nextBoot(): void {
    boots += 1;
    bootedAt = clock.monotonic();
    machine.set({ bootId: `00000000-0000-4000-8000-${String(boots).padStart(12, "0")}` });
  }

  /** k3s's API comes up a while after its unit does, its own kinds after that. */
  async function bringApiUp(): Promise<void> {
    await clock.sleep(API_AFTER_MS);
    k8s.breakWith(null);
    await clock.sleep(API_AFTER_MS / 2);
    k8s.installK3sDefinitions();
    k8s.setNode(NODE, true);
  }

  function ports(): Ports {
    const starting = (work: (unit: string) => ReturnType<Ports["systemd"]["start"]>) =>
    async (
      unit: string,
    ) => {
      const wasUp = systemd.units.get(unit)?.state === "active";
      const done = await work(unit);
      if (done.ok && !wasUp) void bringApiUp();
      return done;
    };
    return {
      clock,
      random,
      disk,
      http,
      k8s,
      systemd: {
        ...systemd,
        start: starting(systemd.start),
        restart: starting(systemd.restart),
      },
      k3s: createFakeK3s("v1.36.3+k3s1"),
      s3,
      servers: createFakeServers(),
      snapshotFile: createFakeSnapshotFile(disk),
      artifacts,
      programs: createFakePrograms(disk),
      boot: createFakeBoot(),
      machine: {
        ...machine,
        async facts() {
          const uptimeSeconds = Math.floor((clock.monotonic() - bootedAt) / 1000);
          return { ...await machine.facts(), uptimeSeconds };
        },
      },
      metadata,
      log,
    };
  }

  function reports(): SyncRequest[] {
    return http.requests.filter(({ url }) => url.endsWith("/sync"))
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
  }

  const world: World = {
    clock,
    disk,
    k8s,
    systemd,
    machine,
    metadata,
    log,
    portal,
    artifacts,
    start(wrap = (whole) => whole) {
      assert.ok(process === null || end !== null, "the program still runs");
      const config = parseConfig(disk.text(CONFIG_FILE) ?? "");
      if (!config.ok) throw new Error(config.error);
      stop = new AbortController();
      end = null;
      version = /^pbx-agent (\S+)/.exec(disk.text(PROGRAM_FILE) ?? "")?.[1] ?? "0.1.0";
      const mortal = mortalPorts(wrap(ports()), disk);
      const mine = process = mortal.process;
      run = runAgent({
        ports: mortal.ports,
        config: config.value,
        stop: stop.signal,
        program: {
          version,
          arch: "amd64",
          startedAt: new Date(clock.now()).toISOString(),
          releaseKeys: options.releaseKeys ?? RELEASE_PUBLIC_KEYS,
          sha256: () => Promise.resolve("a".repeat(64)),
        },
        ...KEY_WORK,
      }).then(
        (how) => void (mine === process && (end = how)),
        (error) => void (mine === process && (end = { kind: "crashed", error })),
      );
      return mine;
    },
    async pass(ms) {
      await clock.advance(ms);
      if (end?.kind === "crashed") throw end.error;
    },
    async stop() {
      stop.abort();
      await clock.settle();
      await run;
      if (end === null || end.kind === "crashed") throw new Error("it did not end", { cause: end });
      return end;
    },
    kill(power) {
      process?.kill();
      end = { kind: "stopped" };
      if (power === undefined) return disk.restart();
      disk.crash(power);
      world.reboot();
    },
    reboot() {
      nextBoot();
      const k3s = systemd.units.get("k3s.service");
      if (k3s !== undefined) k3s.state = k3s.enabled ? "active" : "inactive";
      k8s.breakWith({ kind: "down" });
      if (k3s?.enabled === true) void bringApiUp();
    },
    ended: () => end,
    reports,
    lastReport() {
      const report = reports().at(-1);
      if (report === undefined) throw new Error("there was no sync yet");
      return report;
    },
    requests: (path) => http.requests.filter(({ url }) => url.endsWith(path)).length,
    signed: () =>
      http.requests.map(({ headers }) => ({
        timestamp: headers["PBX-Timestamp"] ?? "",
        signature: headers["PBX-Signature"] ?? "",
      })),
    sent: (path) =>
      http.requests.filter(({ url }) => url.endsWith(path)).map(({ headers }) => headers),
    syncs: () =>
      http.requests.filter(({ url }) => url.endsWith("/sync")).map(({ url, headers, body }) => ({
        path: new URL(url).pathname,
        timestamp: headers["PBX-Timestamp"] ?? "",
        signature: headers["PBX-Signature"] ?? "",
        body: body ?? new Uint8Array(),
      })),
    stored: (path = STATE_FILE) => JSON.parse(disk.text(path) ?? "null"),
    status: () =>
      readStatus(disk, async () => {
        const id = await metadata.instanceId();
        return id.ok ? id.value : null;
      }),
    conditions: () => world.lastReport().conditions.map(({ code }) => code).sort(),
  };
  layOut();
  return world;
}

/** A world whose agent has enrolled, has its cluster running and has accepted the first desired state. */
export async function createSettledWorld(options: WorldOptions = {}): Promise<World> {
  const world = createWorld(options);
  world.start();
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "done");
  assert.equal(world.lastReport().desired.revision, 1);
  return world;
}
