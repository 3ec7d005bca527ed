/**
 * `deno task portal`: a fake portal for demos, tests and whoever builds the real one. It prints one JSON
 * line about itself on stdout; everything else goes to stderr. See docs/portal.md.
 */
import { parseArgs } from "node:util";
import { createNodeClock } from "../adapters/node/clock.ts";
import { createNodeLog } from "../adapters/node/log.ts";
import { createNodeRandom } from "../adapters/node/random.ts";
import type { Log } from "../core/ports/log.ts";
import { parseReleaseKeys } from "../adapters/portal/release_keys.ts";
import { startPortal } from "../adapters/portal/server.ts";
import { welcome } from "../adapters/portal/welcome.ts";
import { print } from "./print.ts";

const USAGE = `usage: portal [options]

A fake portal on 127.0.0.1. Prints one JSON line with its URLs, a cluster and a token.

  --port N         port for agents (default: any free one)
  --admin-port N   port of the admin API (default: any free one)
  --state DIR      folder of its state (default: a temporary one, removed at the end)
  --memory         keep no state on disk
  --quiet          log trouble only, not every request
  --tls            HTTPS for agents, with a certificate made at the start
  --unsigned       sign no answer, as a portal that does not know trust.md
  --base PATH      path of the protocol's base (default: /agent/v1)
  --end-with-input end once standard input does, so that whoever started it leaves none behind
  --help           this text
`;

const RELEASE_KEYS = new URL("../fixtures/lab-release-keys.json", import.meta.url);

interface Options {
  readonly port: number;
  readonly adminPort: number;
  readonly state: string | undefined;
  readonly memory: boolean;
  readonly quiet: boolean;
  readonly tls: boolean;
  readonly unsigned: boolean;
  readonly base: string | undefined;
  readonly endWithInput: boolean;
}

/** Runs until SIGTERM or SIGINT, or the end of its input; gives the exit code. */
async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === "help") {
    print("stdout", USAGE);
    return 0;
  }
  if (typeof options === "string") {
    print("stderr", `portal: ${options}\n\n${USAGE}`);
    return 2;
  }
  if (options.memory || options.state !== undefined) {
    return await runUntilTold(options, options.state ?? null);
  }
  const stateDir = await Deno.makeTempDir({ prefix: "pbx-portal-" });
  try {
    return await runUntilTold(options, stateDir);
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
}

async function runUntilTold(options: Options, stateDir: string | null): Promise<number> {
  const clock = createNodeClock();
  const whole = createNodeLog({ stream: "stderr", json: true, now: () => clock.now() });
  const log: Log = options.quiet
    ? { write: (level, ...rest) => level === "error" ? whole.write(level, ...rest) : undefined }
    : whole;
  const told = signalled();
  try {
    const running = await startPortal({
      port: options.port,
      adminPort: options.adminPort,
      stateDir,
      tls: options.tls,
      unsigned: options.unsigned,
      ...(options.base === undefined ? {} : { base: options.base }),
      clock,
      random: createNodeRandom(),
      log,
      releaseKeys: parseReleaseKeys(await Deno.readTextFile(RELEASE_KEYS)),
    });
    print("stdout", `${JSON.stringify(welcome(running))}\n`);
    log.write("info", "portal_up", `for agents: ${running.url}; admin: ${running.adminUrl}`);
    await Promise.race(options.endWithInput ? [told.signal, inputEnd()] : [told.signal]);
    await running.close();
    log.write("info", "portal_down", "ended as told");
    return 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log.write("error", "portal_failed", `the portal does not start: ${why}`);
    return 1;
  } finally {
    told.stop();
  }
}

/** The options, `help`, or what is wrong with them. */
function readOptions(args: string[]): Options | string {
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        port: { type: "string", default: "0" },
        "admin-port": { type: "string", default: "0" },
        state: { type: "string" },
        memory: { type: "boolean", default: false },
        quiet: { type: "boolean", default: false },
        tls: { type: "boolean", default: false },
        unsigned: { type: "boolean", default: false },
        base: { type: "string" },
        "end-with-input": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  if (values.help) return "help";
  if (values.memory && values.state !== undefined) return "--memory or --state, not both";
  for (const name of ["port", "admin-port"] as const) {
    if (!/^[0-9]{1,5}$/.test(values[name]) || Number(values[name]) > 65_535) {
      return `--${name} ${values[name]}: must be a number from 0 to 65535`;
    }
  }
  return {
    port: Number(values.port),
    adminPort: Number(values["admin-port"]),
    state: values.state,
    memory: values.memory,
    quiet: values.quiet,
    tls: values.tls,
    unsigned: values.unsigned,
    base: values.base,
    endWithInput: values["end-with-input"],
  };
}

/** Resolves once nobody can write to standard input any more; what is written means nothing. */
async function inputEnd(): Promise<void> {
  for await (const _ of Deno.stdin.readable);
}

function signalled(): { readonly signal: Promise<void>; stop(): void } {
  let tell = () => {};
  const signal = new Promise<void>((resolve) => tell = resolve);
  const listener = () => tell();
  Deno.addSignalListener("SIGTERM", listener);
  Deno.addSignalListener("SIGINT", listener);
  return {
    signal,
    stop() {
      Deno.removeSignalListener("SIGTERM", listener);
      Deno.removeSignalListener("SIGINT", listener);
    },
  };
}

if (import.meta.main) Deno.exit(await main(Deno.args));
