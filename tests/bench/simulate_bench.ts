import { Report } from "../../simulate/report/report.ts";
import type { Bench } from "./bench.ts";
import { type ProcessUse, processUse } from "./process_use.ts";

const REPOSITORY = new URL("../../", import.meta.url).pathname;
const AGENTS = 500;
/** All have begun, and their first start is over, after this long, milliseconds. */
const SETTLED_MS = 45_000;
const DURATION_MS = 75_000;
/** So that a minute shows what a cluster of ten times as many does in the usual rhythm. */
const CYCLE = "3s";

/** CPU time and memory of simulated agents and of the fake portal, each in a process of its own. */
export async function bench(): Promise<readonly Bench[]> {
  return [
    { name: "simulate", rows: await measured({ isProven: false }) },
    { name: "simulate, answers proven", rows: await measured({ isProven: true }) },
  ];
}

async function measured({ isProven }: { readonly isProven: boolean }): Promise<Bench["rows"]> {
  const flags = isProven ? [] : ["--unsigned"];
  const portal = start(["cli/portal.ts", "--memory", "--quiet", ...flags], "inherit");
  try {
    const { url, admin, portal_keys } = await firstLine(portal);
    const fleet = start([
      ...["cli/simulate.ts", "--portal", url, "--admin", admin, "--agents", String(AGENTS)],
      ...["--duration", `${DURATION_MS}ms`, "--ramp", "10s", "--warmup", `${SETTLED_MS}ms`],
      ...["--cycle", CYCLE, "--report", "-"],
      ...(isProven ? portal_keys.flatMap((key) => ["--portal-key", key]) : []),
    ], "null");
    const report = new Response(fleet.stdout).text();
    const pids = [fleet.pid, portal.pid];
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    const from = { at: Date.now(), use: await Promise.all(pids.map(processUse)) };
    await new Promise((resolve) => setTimeout(resolve, DURATION_MS - SETTLED_MS - 5_000));
    const to = { at: Date.now(), use: await Promise.all(pids.map(processUse)) };
    return rowsOf(Report.parse(JSON.parse(await report)), from, to);
  } finally {
    portal.kill("SIGTERM");
    await portal.status;
  }
}

interface Moment {
  readonly at: number;
  /** Of the fleet and of the portal. */
  readonly use: readonly ProcessUse[];
}

function rowsOf(report: Report, from: Moment, to: Moment): Bench["rows"] {
  const syncs = report.slices.filter(({ at_ms }) => at_ms >= from.at && at_ms < to.at)
    .reduce((sum, { requests }) => sum + (requests.sync ?? 0), 0);
  const cpu = (which: number) =>
    ((to.use[which]?.cpuMs ?? 0) - (from.use[which]?.cpuMs ?? 0)) / syncs;
  const settled = (which: number) => (from.use[which]?.cpuMs ?? 0) / AGENTS;
  const { response_ms } = report.endpoints.sync ?? {};
  return [
    { what: `CPU time of a sync, agent (${AGENTS} agents)`, value: cpu(0), unit: "ms" },
    { what: "the same, fake portal", value: cpu(1), unit: "ms" },
    { what: "CPU time from an agent's start until it syncs", value: settled(0), unit: "ms" },
    { what: "the same, fake portal", value: settled(1), unit: "ms" },
    {
      what: "memory of an agent, the program's own included",
      value: (to.use[0]?.residentMb ?? 0) / AGENTS,
      unit: "MB",
    },
    { what: "response time of a sync, p99", value: response_ms?.p99 ?? 0, unit: "ms" },
  ];
}

function start(args: readonly string[], stderr: "inherit" | "null"): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", "--no-check", "--no-prompt", "-A", ...args],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "piped",
    stderr,
  }).spawn();
}

/** What the portal says of itself. */
interface Welcome {
  readonly url: string;
  readonly admin: string;
  readonly portal_keys: readonly string[];
}

async function firstLine(child: Deno.ChildProcess): Promise<Welcome> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the portal did not start");
    text += value;
  }
  return JSON.parse(text);
}
