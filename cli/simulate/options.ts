import { parseArgs } from "node:util";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { isEd25519PublicKey } from "../../core/protocol/public_key_check.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { portalBase } from "../../core/state/portal_url.ts";
import { PROFILE_NAMES } from "../../simulate/profile/built_in.ts";
import type { ExitCode } from "../exit_codes.ts";
import type { PortalAdmin } from "../../simulate/fleet/admin.ts";
import type { Simulation } from "../../simulate/fleet/simulation.ts";
import type { Profile } from "../../simulate/profile/profile.ts";
import { type Limit, parseSlo, SLO_HELP } from "../../simulate/report/slo.ts";

/** What differs between the programs that simulate. */
export interface SimulateEntry {
  /** Ed25519 public keys that the simulated agents verify releases with. */
  readonly releaseKeys: readonly Uint8Array[];
  /** Writes files, knows the fake portal's admin API, other rhythms and other release keys. */
  readonly lab: boolean;
  /** Orders the profile's work by the admin API of a fake portal; agents are left alone where absent. */
  readonly orders?: (
    admins: readonly PortalAdmin[],
    profile: Profile,
    failed: (cause: unknown) => void,
  ) => Pick<Simulation, "order" | "programs">;
  /** `simulate --virtual`, where the program has what it takes: the fake portal. */
  readonly virtual?: (args: readonly string[]) => Promise<ExitCode>;
  /** `simulate restore`, where the program has the fake portal. */
  readonly restore?: (args: readonly string[]) => Promise<ExitCode>;
  /** Starts a fake portal where none is named; not there in a compiled program. */
  readonly startPortal?: () => Promise<OwnPortal>;
}

/** A fake portal that was started for this run. */
export interface OwnPortal {
  readonly url: string;
  readonly adminUrl: string;
  close(): Promise<void>;
}

/** What `simulate` was asked to do. Texts of files are still to be read. */
export interface SimulateOptions {
  /** Base URLs; none where a fake portal is to be started. */
  readonly portals: readonly string[];
  /** Of the admin APIs, as many as portals, or none. */
  readonly admins: readonly string[];
  readonly agents: number;
  readonly durationMs: number;
  readonly rampMs: number;
  readonly warmupMs: number;
  readonly cycleMs: number;
  /** Name of a built-in profile, or a file. */
  readonly profile: string;
  readonly seed: number;
  /** A folder, `-` for standard output, or null for none. */
  readonly report: string | null;
  readonly limits: readonly Limit[];
  readonly tokens: string | null;
  /** What proves the portals' answers, base64. */
  readonly portalKeys: readonly string[];
  readonly caFiles: readonly string[];
  readonly releaseKeys: readonly Uint8Array[];
  readonly shard: { readonly index: number; readonly of: number };
}

/** The usage text. */
export function simulateUsage({ lab, startPortal, virtual, restore }: SimulateEntry): string {
  const own = startPortal !== undefined;
  return `usage: simulate [options]
       simulate merge REPORT... [--report ${lab ? "DIR|-" : "-"}] [--slo LIMITS] [--partial]
${
    virtual === undefined
      ? ""
      : "       simulate --virtual [options]                    in simulated time (see its --help)\n"
  }${
    restore === undefined
      ? ""
      : "       simulate restore [options]                      several servers, one after the other\n" +
        "                                                       (see its --help)\n"
  }       simulate html REPORT > PAGE                     a report's page for a browser
       simulate conformance --portal URL [options]     (see its --help)

Agents of this program's own core on machines in memory, against a real portal over real HTTP.
Nothing on this machine is touched.

  --portal URL      its domain or base URL${
    own ? "; without one a fake portal is started" : " (required)"
  }
  --tokens FILE     enrollment tokens, a line of JSON each: token, cluster_id, node_name, server_id;
                    - for standard input${lab ? "" : ", where this program may not read the file"}
  --admin URL       the admin API of a fake portal, which gives the tokens and orders the work
                    Both may be repeated: agents take several portals in turn, by their numbers
  --agents N        how many agents (100)
  --duration D      how long, such as 90s, 10m or 2h (2m)
  --ramp D          over how long they begin (a third of the run, at most 50 a second)
  --warmup D        times before this are shown, but not judged: enrollments are slower (0s)
  --profile NAME    ${PROFILE_NAMES.join(", ")}, or a file, - for standard input (calm)
  --seed N          the same seed draws the same fleet (1)
  --report ${lab ? "DIR   folder for the report" : "-     the report"}, JSON${
    lab ? "; - writes it to standard output" : ", to standard output"
  }
  --slo LIMITS      separated by commas; if one does not hold, the exit code is 3:
       ${SLO_HELP}
  --portal-key K    what --portal signs its answers with, base64 of 32 bytes: agents take no others
  --ca FILE         certificates to trust beside the runtime's own, PEM; may be repeated
  --shard I/N       only every N-th agent, from I (0 to N-1) on: one process of several
  --shards N        the same, I from JOB_COMPLETION_INDEX, as an indexed Kubernetes Job sets it
${lab ? LAB_USAGE : ""}  --help            this text

Exit codes: 0 all limits held, 1 it could not be done, 2 usage, 3 a limit did not hold.
`;
}

const LAB_USAGE = `  --cycle D         agents sync this often instead of every 30s
  --release-key K   a release key of the portal's, base64 of 32 bytes, in the place of the lab's
`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MOST_AGENTS = 1_000_000;

/** Reads the arguments of a run; `environment` is for JOB_COMPLETION_INDEX. */
export function parseSimulateOptions(
  args: readonly string[],
  entry: SimulateEntry,
  environment: (name: string) => string | undefined,
): Result<SimulateOptions | "help", string> {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        portal: { type: "string", multiple: true },
        admin: { type: "string", multiple: true },
        agents: { type: "string", default: "100" },
        duration: { type: "string", default: "2m" },
        ramp: { type: "string" },
        warmup: { type: "string", default: "0s" },
        cycle: { type: "string" },
        profile: { type: "string", default: "calm" },
        seed: { type: "string", default: "1" },
        report: { type: "string" },
        slo: { type: "string" },
        tokens: { type: "string" },
        "portal-key": { type: "string", multiple: true },
        ca: { type: "string", multiple: true },
        shard: { type: "string" },
        shards: { type: "string" },
        "release-key": { type: "string", multiple: true },
        help: { type: "boolean", short: "h" },
      },
    }));
  } catch (error) {
    return fail(error instanceof Error ? error.message.split(". ")[0] ?? "" : String(error));
  }
  if (values.help === true) return ok("help");
  if (!entry.lab) {
    if (values.cycle !== undefined) return fail("--cycle is for labs");
    if (values["release-key"] !== undefined) {
      return fail("--release-key is for labs: this program trusts the keys that it was built with");
    }
    if (values.report !== undefined && values.report !== "-") {
      return fail("--report: this program writes no files: use --report - for standard output");
    }
  }
  const agents = wholeNumber(values.agents, 1, MOST_AGENTS);
  if (agents === null) return fail(`--agents ${values.agents}: is no number from 1 to 1000000`);
  const seed = wholeNumber(values.seed, 0, 2 ** 32 - 1);
  if (seed === null) return fail(`--seed ${values.seed}: is no whole number below 2^32`);
  const durationMs = duration(values.duration);
  if (durationMs === null || durationMs === 0) return fail(noDuration("duration", values.duration));
  const rampMs = values.ramp === undefined ? usualRamp(durationMs, agents) : duration(values.ramp);
  if (rampMs === null) return fail(noDuration("ramp", values.ramp));
  if (rampMs > durationMs) return fail("--ramp is longer than --duration: not all agents begin");
  const warmupMs = duration(values.warmup);
  if (warmupMs === null) return fail(noDuration("warmup", values.warmup));
  if (warmupMs >= durationMs) return fail("--warmup leaves nothing of --duration to be judged");
  const cycleMs = values.cycle === undefined ? 30_000 : duration(values.cycle);
  if (cycleMs === null || cycleMs === 0) return fail(noDuration("cycle", values.cycle));
  const shard = shardOf(values.shard, values.shards, environment);
  if (!shard.ok) return shard;
  if (shard.value.of > agents) return fail("there are more shards than agents");
  const limits = values.slo === undefined ? ok([]) : parseSlo(values.slo);
  if (!limits.ok) return fail(`--slo: ${limits.error}`);
  const portals = portalsOf(values.portal ?? [], values.tokens, values.admin ?? [], entry);
  if (!portals.ok) return portals;
  const releaseKeys = (values["release-key"] ?? []).map(keyOf);
  if (releaseKeys.some((key) => key === null)) {
    return fail("--release-key: is not the base64 of the 32 bytes of a proper Ed25519 public key");
  }
  const portalKeys = values["portal-key"] ?? [];
  if (portalKeys.length > 2 || portalKeys.some((key) => keyOf(key) === null)) {
    return fail("--portal-key: is not the base64 of a proper Ed25519 public key, once or twice");
  }
  if (portalKeys.length > 0 && portals.value.length === 0) {
    return fail("--portal-key needs --portal: whose key is it?");
  }
  if (values.report === "") return fail("--report needs a folder or -");
  return ok({
    portals: portals.value,
    admins: values.admin ?? [],
    agents,
    durationMs,
    rampMs,
    warmupMs,
    cycleMs,
    profile: values.profile,
    seed,
    report: values.report ?? null,
    limits: limits.value,
    tokens: values.tokens ?? null,
    portalKeys,
    caFiles: values.ca ?? [],
    releaseKeys: releaseKeys.filter((key) => key !== null),
    shard: shard.value,
  });
}

/** The portals' bases; none where a fake one is to be started. */
function portalsOf(
  portals: readonly string[],
  tokens: string | undefined,
  admins: readonly string[],
  { startPortal }: SimulateEntry,
): Result<readonly string[], string> {
  if (tokens !== undefined && admins.length > 0) return fail("--tokens or --admin, not both");
  if (portals.length === 0) {
    if (startPortal === undefined) return fail("--portal is missing");
    if (tokens !== undefined) return fail("--tokens needs --portal: whose tokens are they?");
    return admins.length === 0 ? ok([]) : fail("--admin needs --portal");
  }
  const bases: string[] = [];
  for (const portal of portals) {
    const base = portalBase(portal);
    if (!base.ok) return fail(`--portal: ${base.error}`);
    bases.push(base.value);
  }
  if (tokens === undefined && admins.length === 0) {
    return fail(
      "--tokens is missing: agents enroll with a token each (or --admin of a fake portal)",
    );
  }
  if (tokens === undefined && admins.length !== portals.length) {
    return fail("--admin: every --portal needs its own, in the same order");
  }
  const wrong = admins.find((admin) => !URL.canParse(admin));
  return wrong === undefined ? ok(bases) : fail(`--admin ${wrong}: is no URL`);
}

function shardOf(
  shard: string | undefined,
  shards: string | undefined,
  environment: (name: string) => string | undefined,
): Result<SimulateOptions["shard"], string> {
  if (shard !== undefined && shards !== undefined) return fail("--shard or --shards, not both");
  if (shards !== undefined) {
    const of = wholeNumber(shards, 1, 10_000);
    if (of === null) return fail(`--shards ${shards}: is no number from 1 to 10000`);
    const given = environment("JOB_COMPLETION_INDEX");
    const index = given === undefined ? null : wholeNumber(given, 0, of - 1);
    if (index !== null) return ok({ index, of });
    return fail(`--shards ${of}: JOB_COMPLETION_INDEX is no number from 0 to ${of - 1}`);
  }
  if (shard === undefined) return ok({ index: 0, of: 1 });
  const [, first, second] = /^([0-9]+)\/([0-9]+)$/.exec(shard) ?? [];
  const of = wholeNumber(second ?? "", 1, 10_000);
  const index = of === null ? null : wholeNumber(first ?? "", 0, of - 1);
  if (of !== null && index !== null) return ok({ index, of });
  return fail(`--shard ${shard}: is no I/N with I from 0 to N-1`);
}

/** A whole number in a range, or null. */
export function wholeNumber(text: string, least: number, most: number): number | null {
  if (!/^[0-9]{1,10}$/.test(text)) return null;
  return Number(text) >= least && Number(text) <= most ? Number(text) : null;
}

/** Milliseconds of a text such as `10m`, or null. */
export function duration(text: string): number | null {
  const [, number, unit] = /^([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  return number === undefined ? null : Number(number) * (UNITS[unit ?? ""] ?? 1);
}

/** What is wrong with a duration. */
export function noDuration(flag: string, text: string | undefined): string {
  return `--${flag} ${text}: is no duration such as 90s, 10m or 2h`;
}

/** An agent's start takes its process some 12 ms of CPU time, which is what this leaves room for. */
const STARTS_PER_S = 50;

function usualRamp(durationMs: number, agents: number): number {
  const wanted = Math.max(Math.min(durationMs / 3, 300_000), agents / STARTS_PER_S * 1000);
  return Math.min(wanted, durationMs * 0.8);
}

function keyOf(text: string): Uint8Array | null {
  const bytes = decodeBase64(text);
  return bytes !== null && isEd25519PublicKey(bytes) ? bytes : null;
}
