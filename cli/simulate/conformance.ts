import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { type AdminCall, createAdminHands } from "../../simulate/conformance/admin_hands.ts";
import { createAskHands } from "../../simulate/conformance/ask_hands.ts";
import { conformanceJunit } from "../../simulate/conformance/junit.ts";
import { type Conformance, runConformance } from "../../simulate/conformance/run.ts";
import { conformanceText } from "../../simulate/conformance/text.ts";
import { parseTokenFile } from "../../simulate/conformance/token_file.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { draw, print } from "../print.ts";
import { VERSION } from "../version.ts";
import {
  type ConformanceArguments,
  conformanceUsage,
  parseConformance,
} from "./conformance_options.ts";
import type { SimulateEntry } from "./options.ts";

/** `simulate conformance --portal URL`: every rule of the protocol that a portal has to keep. */
export async function conformance(
  args: readonly string[],
  entry: SimulateEntry,
): Promise<ExitCode> {
  const parsed = parseConformance(args, entry);
  if (!parsed.ok) {
    print("stderr", `simulate conformance: ${parsed.error}\n\n${conformanceUsage(entry)}`);
    return EXIT.USAGE;
  }
  if (parsed.value === "help") {
    print("stdout", conformanceUsage(entry));
    return EXIT.OK;
  }
  return await walk(parsed.value, entry);
}

async function walk(options: ConformanceArguments, entry: SimulateEntry): Promise<ExitCode> {
  const { tokens: file, admin, caFile, releaseKeys } = options;
  const tokens = parseTokenFile(file === null ? "" : await readText(file));
  if (!tokens.ok) {
    print("stderr", `simulate conformance: ${file}: ${tokens.error}\n`);
    return EXIT.FAILED;
  }
  const clock = createNodeClock();
  const random = createNodeRandom();
  const http = createNodeHttp({
    version: VERSION,
    clock,
    ...(caFile === null ? {} : { caPem: await Deno.readTextFile(caFile) }),
  });
  const hands = admin !== null
    ? createAdminHands(adminCall(admin), random)
    : options.ask
    ? createAskHands((question) => confirm(question))
    : null;
  const isLab = entry.lab && releaseKeys.length > 0;
  try {
    const report = await runConformance({
      base: options.portal,
      tokens: tokens.value,
      portalKeys: options.portalKeys,
      releaseKeys: isLab ? releaseKeys : [...entry.releaseKeys, ...releaseKeys],
      agentVersion: VERSION,
      arch: "amd64",
      patient: options.patient,
      burst: options.burst,
      hands,
      http,
      clock,
      random,
      progress: (line) => print("stderr", `... ${line}\n`),
    });
    if (!report.ok) {
      print("stderr", `simulate conformance: ${report.error}\n`);
      return EXIT.FAILED;
    }
    await show(report.value, options);
    return report.value.failed === 0 ? EXIT.OK : EXIT.FAILED;
  } finally {
    http.close();
  }
}

async function show(report: Conformance, { output, junit }: ConformanceArguments): Promise<void> {
  if (junit !== null) await Deno.writeTextFile(junit, conformanceJunit(report));
  if (output === "json") return print("stdout", `${JSON.stringify(report, null, 1)}\n`);
  if (output === "junit") return print("stdout", conformanceJunit(report));
  const colour = Deno.stdout.isTerminal();
  draw("stdout", conformanceText(report, { colour, all: output === "all" }));
}

function adminCall(origin: string): AdminCall {
  return async (method, path, body) => {
    const url = `${origin.replace(/\/+$/, "")}${path}`;
    try {
      const answer = await fetch(url, { method, body: JSON.stringify(body), redirect: "manual" });
      const text = await answer.text();
      return answer.status === 200 ? JSON.parse(text) : null;
    } catch {
      print("stderr", `... the admin API does not take ${method} ${path}\n`);
      return null;
    }
  };
}

async function readText(file: string): Promise<string> {
  if (file === "-") return await new Response(Deno.stdin.readable).text();
  return await Deno.readTextFile(file);
}
