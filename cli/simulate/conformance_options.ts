import { parseArgs } from "node:util";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { isEd25519PublicKey } from "../../core/protocol/public_key_check.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { portalBase } from "../../core/state/portal_url.ts";
import type { SimulateEntry } from "./options.ts";

/** What `simulate conformance` was asked to do. Files are still to be read. */
export interface ConformanceArguments {
  readonly portal: string;
  /** A file with tokens, `-` for standard input. */
  readonly tokens: string | null;
  readonly admin: string | null;
  /** Asks whoever runs it to do at the portal what no agent can. */
  readonly ask: boolean;
  readonly releaseKeys: readonly Uint8Array[];
  readonly portalKeys: readonly Uint8Array[];
  readonly caFile: string | null;
  readonly patient: boolean;
  readonly burst: number;
  readonly output: "text" | "all" | "json" | "junit";
  /** A file for JUnit XML beside what is printed. */
  readonly junit: string | null;
}

/** The usage text. */
export function conformanceUsage({ lab }: SimulateEntry): string {
  return `usage: simulate conformance --portal URL [options]

Walks a portal through the protocol as an agent would, and as one that breaks it, and tells of each rule
whether the portal keeps it. Agents that it enrolls stay enrolled: use a cluster made for it.

  --portal URL      its domain or base URL
  --tokens FILE     enrollment tokens, a line of JSON each: token, cluster_id, node_name, server_id, and
                    where it is so "expired": true or "boot_image_sha256": "..."; - is standard input
  --admin URL       an admin API as the fake portal has it: gives tokens, operations, all that is needed
  --ask             asks you, on a terminal, to do at the portal what no agent can
  --release-key K   ${
    lab ? "in the place of the lab's" : "beside the built-in ones"
  }: a release key, ${"base64 of 32 bytes; may be repeated"}
  --portal-key K    what the portal signs its answers with, base64 of 32 bytes; may be given twice
  --ca FILE         certificates to trust beside the runtime's own, PEM
  --patient         also what takes another two minutes
  --burst N         sends N reports in a row, to see a 429
  --all             prints the rules that hold, too
  --json            prints the report as JSON
  --junit ${lab ? "FILE|-    " : "-         "}writes it as JUnit XML${
    lab ? " into a file" : ""
  }; - prints it in place of text
  --help            this text

Exit codes: 0 no rule is broken, 1 one is, or it could not be done, 2 usage.
`;
}

/** Reads the arguments; the error says what is not understood. */
export function parseConformance(
  args: readonly string[],
  entry: SimulateEntry,
): Result<ConformanceArguments | "help", string> {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        portal: { type: "string" },
        tokens: { type: "string" },
        admin: { type: "string" },
        ask: { type: "boolean", default: false },
        "release-key": { type: "string", multiple: true },
        "portal-key": { type: "string", multiple: true },
        ca: { type: "string" },
        patient: { type: "boolean", default: false },
        burst: { type: "string", default: "0" },
        all: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        junit: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    }));
  } catch (error) {
    return fail(error instanceof Error ? error.message.split(". ")[0] ?? "" : String(error));
  }
  if (values.help === true) return ok("help");
  if (values.portal === undefined) return fail("--portal is missing");
  const portal = portalBase(values.portal);
  if (!portal.ok) return fail(`--portal: ${portal.error}`);
  const { tokens, admin, ask, junit } = values;
  if (admin !== undefined && ask) return fail("--admin or --ask, not both");
  if (admin !== undefined && !URL.canParse(admin)) return fail(`--admin ${admin}: is no URL`);
  if (tokens === "-" && ask) return fail("--ask reads what you say, so --tokens - cannot");
  if (!/^[0-9]{1,5}$/.test(values.burst)) {
    return fail(`--burst ${values.burst}: is no number up to 99999`);
  }
  if (values.json && junit === "-") return fail("--json or --junit -, not both");
  if (junit === "") return fail("--junit needs a file or -");
  if (junit !== undefined && junit !== "-" && !entry.lab) {
    return fail("--junit: this program writes no files: use --junit - for standard output");
  }
  const keys = (values["release-key"] ?? []).map(decodeBase64);
  if (keys.some((key) => key === null || !isEd25519PublicKey(key))) {
    return fail("--release-key: is not the base64 of the 32 bytes of a proper Ed25519 public key");
  }
  const portalKeys = (values["portal-key"] ?? []).map(decodeBase64);
  if (portalKeys.length > 2 || portalKeys.some((key) => key === null || !isEd25519PublicKey(key))) {
    return fail("--portal-key: is not the base64 of a proper Ed25519 public key, once or twice");
  }
  return ok({
    portal: portal.value,
    tokens: tokens ?? null,
    admin: admin ?? null,
    ask,
    releaseKeys: keys.filter((key) => key !== null),
    portalKeys: portalKeys.filter((key) => key !== null),
    caFile: values.ca ?? null,
    patient: values.patient,
    burst: Number(values.burst),
    output: values.json ? "json" : junit === "-" ? "junit" : values.all ? "all" : "text",
    junit: junit === undefined || junit === "-" ? null : junit,
  });
}
