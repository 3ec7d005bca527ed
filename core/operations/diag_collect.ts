import * as z from "zod";
import { readHostFacts } from "../host/facts.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import { Rfc3339 } from "../protocol/identifiers.ts";
import type { Secret } from "../secret.ts";
import { AGENT_UNIT, K3S_UNIT } from "../state/paths.ts";
import { defineOperation, type StepTools } from "./definition.ts";
import { type BundleLog, makeBundle } from "./diagnostics/bundle.ts";
import { learnSecrets } from "./diagnostics/known_secrets.ts";
import { Recipient, sealFor } from "./recipient.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({
  consent: z.strictObject({ by: z.string().min(1).max(253), at: Rfc3339 }).optional(),
  recipient: Recipient.optional(),
  lines: z.int().min(1).max(1_000).default(200),
});

const UNITS = [K3S_UNIT, AGENT_UNIT] as const;

/** The same facts, every text in them redacted: some come from files that anybody may have written. */
function redactTexts<T extends JsonValue>(value: T, redactor: Redactor): T {
  if (typeof value === "string") return redactor.redact(value) as T;
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map((
    [name, member],
  ) => [name, redactTexts(member, redactor)]);
  return Object.fromEntries(members);
}

/** A text that merely looks like a box does not open, and is known as it is. */
function openOwn(open: StepTools<unknown>["open"], sealed: string): Secret | null {
  try {
    return open({ sealed });
  } catch {
    return null;
  }
}

/**
 * Collects what helps somebody who is not at the node: versions, states of units, the last lines of two
 * logs. Only with consent, and never Secrets, tokens or environment files: what is collected is a list
 * of named things, and every line of it is redacted.
 */
export const diagCollect = defineOperation({
  kind: "diag.collect",
  params: Params,
  needsApi: false,
  isRescue: true,
  needsConsent: true,
  steps: {
    collect: {
      timeoutMs: TIMEOUT_MS.local,
      async run({ params, ports, node, say, open }) {
        const { consent } = params;
        await say(
          consent === undefined
            ? "the owner's approval is the consent"
            : `consent by ${consent.by} at ${consent.at}`,
        );
        const redactor = createRedactor();
        await learnSecrets(ports.disk, redactor, (box) => openOwn(open, box));

        const host = await readHostFacts(ports);
        const k3s = await ports.k3s.version();
        const units: Record<string, string> = {};
        const logs: BundleLog[] = [];
        for (const unit of UNITS) {
          units[unit] = await ports.systemd.unitState(unit);
          const log = await ports.systemd.journal(unit, params.lines);
          // journalctl's own lines, such as that of a boot, come on top of those asked for.
          const lines = log.ok
            ? log.value.slice(-params.lines)
            : [`(no log: ${log.error.message})`];
          // Redacted as a whole: a private key runs over many lines.
          logs.push({ name: unit, lines: redactor.redact(lines.join("\n")).split("\n") });
        }
        const facts: JsonObject = {
          collected_at: new Date(ports.clock.now()).toISOString(),
          consent: consent === undefined ? "approval" : { ...consent },
          node: node.binding.node_name,
          cluster: node.binding.cluster_id,
          versions: {
            agent: node.agentVersion,
            k3s: k3s.ok ? k3s.value : null,
            kernel: host.kernel,
            os: host.os,
          },
          units,
          api_ready: await ports.k8s.ready(),
          disk_free_bytes: host.diskFreeBytes,
          memory_available_bytes: host.memoryAvailableBytes,
        };
        const bundle = makeBundle(redactTexts(facts, redactor), logs);
        const handed = params.recipient === undefined
          ? { bundle: encodeBase64(bundle) }
          : { sealed_bundle: sealFor(params.recipient, bundle, ports.random) };
        return { kind: "done", handed, evidence: `${bundle.length} bytes of diagnostics` };
      },
    },
  },
  output: (handed) => handed,
});
