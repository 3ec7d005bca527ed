import { caFault } from "../../adapters/node/ca_fault.ts";
import { createNodeKeyWork } from "../../adapters/node/key_work.ts";
import { isHeldFor, takeLock } from "../../adapters/node/lock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { runAgent } from "../../core/agent/run.ts";
import type { Disk } from "../../core/ports/disk.ts";
import { isLoopbackHost } from "../../core/protocol/loopback.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Config, parseConfig } from "../../core/state/config.ts";
import { type Parse, PRIVATE_DIRECTORY, readDocument } from "../../core/state/durable.ts";
import {
  CONFIG_DIRECTORY,
  CONFIG_FILE,
  INSTALL_LOCK_FILE,
  LOCK_FILE,
  STATE_DIRECTORY,
} from "../../core/state/paths.ts";
import type { Arguments } from "../arguments.ts";
import type { Entry } from "../entry.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { nodePorts, programLog } from "../node_ports.ts";
import { programInfo } from "../program.ts";

/** After a signal the program ends on its own; if a call holds it up, it ends all the same after this. */
const END_MS = 1_500;

/**
 * How long a start waits for the end of an installation before it makes way: so that systemd, which starts
 * the agent again 5 s later, does so a few times a minute and not twelve.
 */
const INSTALLATION_MS = 15_000;

/** `pbx-agent run`: the service. */
export async function run(args: Arguments, entry: Entry): Promise<ExitCode> {
  const stop = stopOnSignals();
  const rooted = args.root === undefined ? {} : { root: args.root };
  if (args.root === undefined && Deno.uid() !== 0) {
    return end(
      "not_root",
      "run needs root: it writes k3s's configuration and starts units",
      EXIT.FAILED,
    );
  }
  // Before anything is read: an installer may be in the middle of writing it.
  const isDeferred = await isHeldFor(INSTALL_LOCK_FILE, {
    ...rooted,
    patienceMs: INSTALLATION_MS,
    onHeld: () =>
      programLog().write(
        "warn",
        "installation_under_way",
        `an installation is under way (${INSTALL_LOCK_FILE} is held): this start makes way for ` +
          "it, and systemd starts the agent again",
      ),
  });
  if (isDeferred) return EXIT.INSTALLING;
  const settings = await readSettings(entry, rooted);
  if (!settings.ok) return end("config_invalid", settings.error, EXIT.CONFIG);
  const { config, caPem } = settings.value;

  const ports = nodePorts({
    ...rooted,
    ...(config.metadataUrl === undefined ? {} : { metadataUrl: config.metadataUrl }),
    ...(caPem === undefined ? {} : { caPem }),
  });
  const directory = await ports.disk.makeDirectory(STATE_DIRECTORY, PRIVATE_DIRECTORY);
  if (!directory.ok && directory.error.code !== "read_only") {
    return end("state_directory", directory.error.message, EXIT.FAILED);
  }
  const lock = await takeLock(LOCK_FILE, rooted);
  if (!lock.ok) {
    if (lock.error.code === "io") return end("lock", lock.error.message, EXIT.FAILED);
    const who = lock.error.pid === null ? "" : ` (process ${lock.error.pid})`;
    return end("locked", `another pbx-agent runs on ${STATE_DIRECTORY}${who}`, EXIT.LOCKED);
  }

  for (const key of config.unknown) {
    ports.log.write(
      "warn",
      "unknown_setting",
      `config.yaml: '${key}' means nothing to this version`,
    );
  }
  const program = programInfo(entry, ports.clock.now(), args.root);
  ports.log.write("info", "agent_started", `pbx-agent ${program.version} starts`, {
    version: program.version,
    portal: config.portal,
  });
  const ended = await runAgent({
    ports,
    program,
    config,
    stop,
    ...createNodeKeyWork(),
    ...(args.cycleMs === undefined ? {} : { cycleMs: args.cycleMs }),
    ...(args.trialMs === undefined ? {} : { trialMs: args.trialMs }),
    ...(args.gateMs === undefined ? {} : { gateMs: args.gateMs }),
  });
  lock.value.release();
  if (ended.kind === "unusable") return end("files_unusable", ended.message, EXIT.CONFIG);
  const why = ended.kind === "updated" ? "ended for the new version to start" : "ended as told";
  ports.log.write("info", "agent_ended", why);
  return EXIT.OK;
}

/** The configuration and the extra certificates; the error is for people. */
async function readSettings(
  entry: Entry,
  rooted: { readonly root?: string },
): Promise<Result<{ config: Config; caPem?: string }, string>> {
  const disk = createNodeDisk(rooted);
  const config = await readConfig(disk);
  if (!config.ok) return config;
  if (entry.lab && !isLoopbackHost(new URL(config.value.portal).hostname)) {
    return fail(
      `${CONFIG_FILE}: 'portal': ${config.value.portal} is not on loopback, and the lab's program ` +
        "trusts keys that anybody can read: use the shipped program",
    );
  }
  if (config.value.caFile === undefined) return ok({ config: config.value });

  const ca = await disk.read(config.value.caFile);
  if (!ca.ok) {
    // What the program may read is baked into it.
    const way = ca.error.code === "denied" ? `; put it into ${CONFIG_DIRECTORY}` : "";
    return fail(`'ca_file': ${ca.error.message}${way}`);
  }
  if (ca.value === null) {
    return fail(
      `'ca_file': ${config.value.caFile} is not there; put it there or take the line out`,
    );
  }
  const pem = new TextDecoder().decode(ca.value);
  const fault = caFault(pem);
  if (fault !== null) {
    return fail(
      `'ca_file': ${config.value.caFile} holds no certificates that can be used: ${fault}`,
    );
  }
  return ok({ config: config.value, caPem: pem });
}

/** The configuration; taking the token out of it may have been cut short, as any write may be. */
async function readConfig(disk: Disk): Promise<Result<Config, string>> {
  const file = await disk.read(CONFIG_FILE);
  // Nothing beside a good one is touched: without the lock, another agent may be writing there.
  const whole = file.ok && file.value !== null ? understand(file.value) : null;
  if (whole?.kind === "loaded") return ok(whole.value);
  const found = await readDocument(disk, CONFIG_FILE, understand);
  if (!found.ok) return fail(found.error.message);
  switch (found.value.kind) {
    case "loaded":
      return ok(found.value.value);
    case "unreadable":
      return fail(`${CONFIG_FILE}: ${found.value.reason}`);
    default:
      return fail(`${CONFIG_FILE} is not there; cloud-init writes it`);
  }
}

function understand(bytes: Uint8Array): ReturnType<Parse<Config>> {
  const config = parseConfig(new TextDecoder().decode(bytes));
  return config.ok
    ? { kind: "loaded", value: config.value }
    : { kind: "unreadable", reason: config.error };
}

/** Aborts at SIGTERM or SIGINT, and ends the process where that is not heeded in time. */
function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  const told = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    // Nothing is lost: every document is whole on disk at any moment.
    Deno.unrefTimer(setTimeout(() => {
      programLog().write(
        "warn",
        "agent_ended",
        "ended as told, in the middle of a call that hangs",
      );
      Deno.exit(EXIT.OK);
    }, END_MS));
  };
  Deno.addSignalListener("SIGTERM", told);
  Deno.addSignalListener("SIGINT", told);
  return controller.signal;
}

/** The last words of a run that cannot go on. */
function end(event: string, message: string, code: ExitCode): ExitCode {
  programLog().write("error", event, message);
  return code;
}
