import { encodeBase64 } from "../../core/protocol/base64.ts";
import { Secret } from "../../core/secret.ts";
import { type Expected, refusal, REFUSED } from "./expected.ts";
import { bytesOf, type Kit, PLAIN_HEADERS, type Player, type Request } from "./kit.ts";
import { reportOf } from "./report_body.ts";
import type { RuleId } from "./rules.ts";

/** An ID that the portal gave nobody. */
const NOBODY = "pbx-conformance-nobody";
const HEADERS = ["PBX-Agent", "PBX-Timestamp", "PBX-Signature"] as const;

/** Signatures that do not count, one fault each. */
export async function walkSignatures(kit: Kit, player: Player): Promise<void> {
  const report = () => bytesOf(reportOf(kit, player));
  const now = () => Math.floor(kit.portalNow() / 1000);
  const attempt = async (
    rule: RuleId,
    as: string,
    request: Partial<Request>,
    expected: Expected = REFUSED,
  ): Promise<void> => {
    const exchange = await kit.ask(player, { path: "/sync", body: report(), ...request, as });
    kit.expect(rule, exchange, expected);
  };

  const body = report();
  const longer = new Uint8Array([...body, 0x20]);
  await attempt("signature.body", "signed without its last blank", {
    body: longer,
    signed: { body },
  });
  await attempt("signature.body", "signed over no body at all", {
    signed: { body: new Uint8Array(0) },
  });
  await attempt("signature.method", "signed for GET", { signed: { method: "GET" } });
  await attempt("signature.path", "signed for /rotate-key", { signed: { path: "/rotate-key" } });
  await attempt("signature.query", "signed without the query", {
    path: "/sync?conformance=1",
    signed: { path: "/sync" },
  });
  for (const [as, second] of [["before", now() - 1], ["after", now() + 1]] as const) {
    await attempt("signature.timestamp", `signed for the second ${as}`, {
      signed: { timestamp: second },
      at: now(),
    });
  }
  const stranger = new Secret(kit.options.random.bytes(32));
  await attempt("signature.key", "signed by a stranger's key", { by: stranger });
  if (kit.second !== null) {
    await attempt("signature.agent", "signed by another agent's key", {
      by: kit.second.keys.signing,
    });
  }
  await attempt("signature.unknown_agent", "under an ID that nobody has", {
    headers: { "PBX-Agent": NOBODY },
  }, refusal(401));
  for (const header of HEADERS) {
    await attempt("signature.headers", `without ${header}`, { headers: { [header]: null } });
  }
  await attempt("signature.encoding", "the signature without its padding", {
    spell: (signature) => encodeBase64(signature).replace(/=+$/, ""),
  });
  await attempt("signature.encoding", "the signature in hex", { spell: hex });
  await attempt("signature.strict", "S + L in place of S", {
    spell: (signature) => encodeBase64(withOrderAdded(signature)),
  });
  await tryUnsigned(kit);
}

/** Every path that wants a signature, asked without one. */
async function tryUnsigned(kit: Kit): Promise<void> {
  const release = String(kit.desired?.["release"] ?? "1.0.0");
  const paths = [
    { method: "POST", path: "/sync" },
    { method: "POST", path: "/operations/pbx-conformance-none/events" },
    { method: "POST", path: "/rotate-key" },
    { method: "GET", path: `/releases/${encodeURIComponent(release)}/manifest` },
  ] as const;
  for (const { method, path } of paths) {
    const exchange = await kit.send({
      method,
      path,
      as: "not signed at all",
      ...(method === "GET"
        ? { headers: { "PBX-Protocol": "1" } }
        : { headers: PLAIN_HEADERS, body: bytesOf({}) }),
    });
    kit.expect("signature.required", exchange, REFUSED);
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The order of Ed25519's group (RFC 8032 §5.1). */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The same signature with S + L in place of S: it satisfies the equation, and is none by RFC 8032. */
function withOrderAdded(signature: Uint8Array): Uint8Array {
  const changed = signature.slice();
  let scalar = ORDER;
  for (let at = 63; at >= 32; at--) scalar += BigInt(changed[at] ?? 0) << BigInt(8 * (at - 32));
  for (let at = 32; at < 64; at++) {
    changed[at] = Number(scalar & 0xffn);
    scalar >>= 8n;
  }
  return changed;
}
