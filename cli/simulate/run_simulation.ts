import { createNodeClock } from "../../adapters/node/clock.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { createPortalAdmin } from "../../simulate/fleet/admin.ts";
import { OWN_LIMITS } from "../../simulate/fleet/own_limit.ts";
import { simulate } from "../../simulate/fleet/simulation.ts";
import { type Tokens, tokensBy, tokensFrom } from "../../simulate/fleet/tokens.ts";
import { builtInProfile, PROFILE_NAMES } from "../../simulate/profile/built_in.ts";
import type { Profile } from "../../simulate/profile/profile.ts";
import { readProfile } from "../../simulate/profile/read_profile.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { VERSION } from "../version.ts";
import type { SimulateEntry, SimulateOptions } from "./options.ts";
import { reportText } from "./report_text.ts";
import { watchRun } from "./watch_run.ts";
import { writeReport } from "./write_report.ts";

/** Runs a simulation as asked: live view on stderr, the report where it was asked for. */
export async function runSimulation(
  options: SimulateOptions,
  entry: SimulateEntry,
): Promise<ExitCode> {
  const profile = await profileOf(options.profile);
  if (!profile.ok) return refuse(profile.error);
  const caCerts: string[] = [];
  for (const file of options.caFiles) {
    const pem = await readText("--ca", file);
    if (!pem.ok) return refuse(pem.error);
    if (!pem.value.includes("-----BEGIN CERTIFICATE-----")) {
      return refuse(`--ca ${file}: holds no PEM certificate`);
    }
    caCerts.push(pem.value);
  }
  const given = options.tokens === null ? null : await tokensOf(options.tokens, options.agents);
  if (given !== null && !given.ok) return refuse(given.error);

  const told = signalled();
  const own = options.portals.length === 0 ? await entry.startPortal?.() ?? null : null;
  const portals = own === null ? options.portals : [own.url];
  const admins = (own === null ? options.admins : [own.adminUrl]).map(createPortalAdmin);
  const tokens = given?.value ?? (admins.length === 0 ? null : tokensBy(admins, runName()));
  if (portals.length === 0 || tokens === null) {
    return refuse("neither a portal nor tokens are named");
  }

  const orders = admins.length === 0 ? {} : entry.orders?.(admins, profile.value, (cause) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    if (!told.signal.aborted) print("stderr", `simulate: ${why}\n`);
  }) ?? {};
  const clock = createNodeClock();
  const over = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  try {
    const report = await simulate({
      ...options,
      ...orders,
      portals,
      tokens,
      profile: profile.value,
      caCerts,
      version: VERSION,
      releaseKeys: options.releaseKeys.length > 0 ? options.releaseKeys : entry.releaseKeys,
    }, {
      clock,
      stop: told.signal,
      begun(recorder) {
        watching = watchRun(recorder, options.durationMs, clock, over.signal);
      },
      limited: (limit) => print("stderr", `simulate: ${OWN_LIMITS[limit]}\n`),
    });
    over.abort();
    await watching;
    print("stderr", reportText(report));
    await writeReport(report, options.report);
    return report.slo.every(({ held }) => held) ? EXIT.OK : EXIT.LIMITS;
  } finally {
    over.abort();
    told.stop();
    await own?.close();
  }
}

/** A built-in profile by its name, or the one in a file. */
export async function profileOf(name: string): Promise<Result<Profile, string>> {
  const builtIn = PROFILE_NAMES.find((known) => known === name);
  if (builtIn !== undefined) return ok(builtInProfile(builtIn));
  const text = await readText("--profile", name);
  if (!text.ok) return text;
  const profile = readProfile(text.value);
  return profile.ok ? profile : fail(`--profile ${name}: ${profile.error}`);
}

async function tokensOf(file: string, agents: number): Promise<Result<Tokens, string>> {
  const text = await readText("--tokens", file);
  if (!text.ok) return text;
  const tokens = tokensFrom(text.value);
  if (!tokens.ok) return fail(`--tokens ${file}: ${tokens.error}`);
  const { count } = tokens.value;
  return count !== null && count < agents
    ? fail(`--tokens ${file}: ${count} tokens are too few for ${agents} agents`)
    : tokens;
}

async function readText(flag: string, file: string): Promise<Result<string, string>> {
  try {
    if (file === "-") return ok(await new Response(Deno.stdin.readable).text());
    return ok(await Deno.readTextFile(file));
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound
      ? "is not there"
      : error instanceof Error
      ? error.message
      : String(error);
    return fail(`${flag} ${file}: ${why}`);
  }
}

/** A name that no earlier run on the same portal had. */
function runName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `sim-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function refuse(message: string): ExitCode {
  print("stderr", `simulate: ${message}\n`);
  return EXIT.USAGE;
}

/** Aborts at the first SIGTERM or SIGINT; the second ends the process as usual. */
function signalled(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const stop = () => {
    Deno.removeSignalListener("SIGTERM", told);
    Deno.removeSignalListener("SIGINT", told);
  };
  const told = () => {
    stop();
    controller.abort();
  };
  Deno.addSignalListener("SIGTERM", told);
  Deno.addSignalListener("SIGINT", told);
  return { signal: controller.signal, stop: () => controller.signal.aborted ? undefined : stop() };
}
