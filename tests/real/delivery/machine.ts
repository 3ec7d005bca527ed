import { createNodeClock } from "../../../adapters/node/clock.ts";
import { createNodeRandom } from "../../../adapters/node/random.ts";
import { Fault } from "../../../adapters/portal/faults.ts";
import { parseReleaseKeys } from "../../../adapters/portal/release_keys.ts";
import { type RunningPortal, startPortal } from "../../../adapters/portal/server.ts";
import { welcome } from "../../../adapters/portal/welcome.ts";
import { UNIT } from "../../../cli/build/templates/unit.ts";
import type { SyncRequest } from "../../../core/protocol/sync.ts";
import type { UpdateStep } from "../../../core/state/update_record.ts";
import { STATE_DIRECTORY } from "../../lab/agent_unit.ts";
import { makeBaseRoot } from "../../lab/base_root.ts";
import { type Container, startContainer } from "../../lab/container.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import { type FileServer, type Shape, startFileServer } from "./file_server.ts";
import { installGate } from "./gate.ts";
import type { Program, Programs } from "./programs.ts";

/** The program that the unit starts. */
export const BIN = `${STATE_DIRECTORY}/bin/pbx-agent`;
/** What a rollback goes by; there from the arming of its timer on. */
export const TRIAL_FILE = `${STATE_DIRECTORY}/update.json`;
const UNITS = "/etc/systemd/system";
const KEYS_FILE = new URL("../../../fixtures/lab-release-keys.json", import.meta.url);
const WAIT_MS = 180_000;

/** The base root's packages beyond systemd: a clock of its own for one process. */
export const PACKAGES = ["libfaketime"] as const;

/**
 * The container shares the host's clock, and nothing here sets that one. A library between the program
 * and the C library makes the wall clock another one, at any time, and leaves the monotonic clock alone.
 */
const CLOCK_FILE = "/etc/lab-clock";
const OWN_CLOCK =
  `Environment=LD_PRELOAD=/usr/lib/${Deno.build.arch}-linux-gnu/faketime/libfaketimeMT.so.1
Environment=FAKETIME_TIMESTAMP_FILE=${CLOCK_FILE} FAKETIME_NO_CACHE=1
Environment=FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
`;

/** k3s as far as an update sees of it: a unit that runs. Its API never comes up. */
const K3S_UNIT = "[Service]\nExecStart=/usr/bin/sleep infinity\n";

/** How a machine differs from the usual one. */
export interface MachineOptions {
  /** How long a new version has to sync, seconds; null: the ten minutes of the shipped program. */
  readonly trial: number | null;
  /** The unit's RestartSec; a second where absent. */
  readonly restart?: number;
  /** Calls of systemctl can be held. */
  readonly gated?: boolean;
  /** The state directory is a disk of so many MiB of its own. */
  readonly stateMebibytes?: number;
  /** Further lines of the unit's [Unit]. */
  readonly unit?: string;
  /** The agent and the rollback see a clock that {@link Machine.setClock} sets. */
  readonly ownClock?: boolean;
}

/** A server with an enrolled agent, its portal, and the files that releases name. */
export interface Machine {
  readonly container: Container;
  readonly portal: RunningPortal;
  readonly files: FileServer;
  /** Puts a release with this program on the portal, named like the program's version. */
  offer(program: Program, shapes?: readonly Shape[]): void;
  /** Wants the agent of that release. */
  want(version: string): Promise<void>;
  /** Offers it and wants it. */
  update(program: Program, shapes?: readonly Shape[]): Promise<void>;
  /** The agent's last report. */
  report(): SyncRequest | null;
  /** Answers of the portal to syncs, oldest first. */
  syncs(): readonly (number | null)[];
  /** Every sync is answered like this until {@link Machine.mend}. */
  spoilSyncs(status: number, headers?: Record<string, string>, body?: unknown): void;
  mend(): void;
  outage(down: boolean): Promise<void>;
  /** Waits until `look` gives something; three minutes, unless told. */
  until<T>(
    what: string,
    look: () => T | undefined | Promise<T | undefined>,
    options?: { readonly timeoutMs: number },
  ): Promise<T>;
  /** Waits until the new program is in its place; it starts a second later. */
  untilSwapped(): Promise<void>;
  /** Waits until an update is at this step, by state.json. */
  untilStep(step: UpdateStep): Promise<void>;
  /** Sets the clock of the agent and the rollback off by so many days, from now on. */
  setClock(days: 1 | -1): Promise<void>;
  /** What the program tells people of its update. */
  statusText(): Promise<string>;
}

/** Plays `story` on a machine whose agent has enrolled and synced, and takes everything down after. */
export async function onMachine(
  programs: Programs,
  options: MachineOptions,
  story: (machine: Machine) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-delivery-" });
  const files = await startFileServer();
  const portal = await startPortal({
    port: 0,
    stateDir: folder,
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write: () => {} },
    releaseKeys: parseReleaseKeys(await Deno.readTextFile(KEYS_FILE)),
  });
  let container: Container | undefined;
  try {
    const config = String(welcome(portal)["config_yaml"]);
    container = await boot(programs, options, config);
    const machine = machineOf(container, portal, files);
    await machine.until("the first sync", () => machine.report()?.desired.tag ?? undefined);
    await story(machine);
  } catch (error) {
    const journal = await container?.exec(["journalctl", "--no-pager", "-n", "40", "-o", "cat"]);
    throw new Error(`${error instanceof Error ? error.message : error}\n${journal?.stdout ?? ""}`);
  } finally {
    await container?.stop();
    await portal.close();
    await files.close();
    await Deno.remove(folder, { recursive: true });
  }
}

async function boot(
  { first }: Programs,
  options: MachineOptions,
  config: string,
): Promise<Container> {
  const { restart = 1, stateMebibytes, trial } = options;
  const flags = trial === null ? "" : ` --trial ${trial}`;
  const run = `ExecStart=\nExecStart=${BIN} run --cycle 1${flags}\nRestartSec=${restart}\n`;
  const service = options.ownClock === true ? OWN_CLOCK : "";
  const lab = `[Unit]\n${options.unit ?? ""}\n[Service]\n${run}${service}`;
  const container = await startContainer({
    baseRoot: await makeBaseRoot(undefined, PACKAGES),
    network: "host",
    ...(stateMebibytes === undefined
      ? {}
      : { disks: [{ guest: STATE_DIRECTORY, mebibytes: stateMebibytes }] }),
    prepare: async (root) => {
      const write = async (path: string, text: string) => {
        await Deno.mkdir((root + path).replace(/\/[^/]*$/, ""), { recursive: true });
        await Deno.writeTextFile(root + path, text);
      };
      await write(`${UNITS}/pbx-agent.service`, UNIT);
      await write(`${UNITS}/pbx-agent.service.d/10-lab.conf`, lab);
      await write(`${UNITS}/pbx-agent-rollback.service.d/10-lab.conf`, `[Service]\n${service}`);
      await write(`${UNITS}/k3s.service`, K3S_UNIT);
      await write("/etc/pbx-agent/config.yaml", config);
      await Deno.chmod(`${root}/etc/pbx-agent/config.yaml`, 0o600);
      await write(CLOCK_FILE, "+0\n");
      if (options.gated === true) await installGate(root);
    },
  });
  try {
    await container.run(["install", "-d", "-m", "0700", STATE_DIRECTORY]);
    await container.writeFile(BIN, first.content, 0o755);
    await container.run(["systemctl", "enable", "--now", "pbx-agent.service"]);
    return container;
  } catch (error) {
    await container.stop();
    throw error;
  }
}

function machineOf(container: Container, portal: RunningPortal, files: FileServer): Machine {
  const { state, memory } = portal.portal;
  const admin = async (method: string, path: string, body: unknown) => {
    const url = `${portal.adminUrl}/admin${path}`;
    const answer = await fetch(url, { method, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  };
  const machine: Machine = {
    container,
    portal,
    files,
    offer(program, shapes) {
      const { version, sha256, size, bytes } = program;
      const artifact = {
        url: files.serve(version, bytes, shapes),
        sha256,
        size,
        ...(program.gzip ? { encoding: "gzip", encoded_size: bytes.length } : {}),
      };
      const payload = {
        version,
        created_at: "2026-02-01T00:00:00Z",
        agent: { version, artifacts: { amd64: artifact, arm64: artifact } },
        image: { k3s_version: "v1.36.3+k3s1", artifacts: {} },
        addons: {},
      };
      state.releases.set(version, { payload, signedBy: ["first"], tampered: false });
    },
    async want(version) {
      const [cluster] = state.clusters.keys();
      const patch = { release: version, agent: { version } };
      await admin("PATCH", `/clusters/${cluster}/desired`, patch);
    },
    async update(program, shapes) {
      machine.offer(program, shapes);
      await machine.want(program.version);
    },
    report: () => ([...state.agents.values()][0]?.report ?? null) as SyncRequest | null,
    syncs: () =>
      memory.requests.filter(({ path }) => path.endsWith("/sync")).map(({ status }) => status),
    spoilSyncs(status, headers = {}, body) {
      const action = { status, headers, ...(body === undefined ? {} : { body }) };
      memory.faults.push(Fault.parse({ match: { path: "/sync" }, count: null, action }));
    },
    mend: () => void (memory.faults = []),
    outage: async (down) => await admin("POST", "/outage", { down }),
    until: (what, look, { timeoutMs } = { timeoutMs: WAIT_MS }) =>
      waitUntil(what, async () => await look(), { timeoutMs, everyMs: 100 }),
    async untilSwapped() {
      await machine.until("the new program in its place", async () => {
        if (!await container.exists(TRIAL_FILE)) return undefined;
        return !await container.exists(`${BIN}.new`) || undefined;
      });
    },
    async untilStep(step) {
      await machine.until(`the step ${step}`, async () => {
        const state = JSON.parse(await container.readFile(`${STATE_DIRECTORY}/state.json`));
        return state.update.under_way?.step === step || undefined;
      });
    },
    setClock: async (days) =>
      await container.writeFile(CLOCK_FILE, `${days > 0 ? "+" : ""}${days}d\n`),
    statusText: async () => await container.run([BIN, "status", "--text"]),
  };
  return machine;
}
