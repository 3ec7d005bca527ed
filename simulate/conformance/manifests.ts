import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { checkOptions } from "../../core/agent/check_options.ts";
import { checkRegistries } from "../../core/agent/check_registries.ts";
import { resolveOptions } from "../../core/cluster/options.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { DesiredState } from "../../core/protocol/desired_state.ts";
import { keyId, pae, RELEASE_PAYLOAD_TYPE } from "../../core/protocol/dsse.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { Envelope, Release } from "../../core/protocol/release.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { verify } from "../../core/protocol/signing.ts";
import { judgeDocument } from "./documents.ts";
import { ACCEPTED, refusal } from "./expected.ts";
import { judgeFirstStart, skipFirstStart } from "./first_start.ts";
import { findingOf, type Kit, type Player } from "./kit.ts";
import type { Exchange } from "./wire.ts";

/** A version that no release has. */
const NO_RELEASE = "0.0.0-pbx-conformance";

/** The manifest of the desired release, the add-ons that it knows, and what k3s gets at the enrollment. */
export async function walkManifests(kit: Kit, player: Player): Promise<void> {
  const unknown = await kit.ask(player, { method: "GET", path: pathOf(NO_RELEASE) });
  kit.expect("manifest.unknown", unknown, refusal(404));
  const version = kit.desired?.["release"];
  const desired = typeof version === "string" ? await readManifest(kit, player, version) : null;
  if (desired !== null) {
    judgeAddons(kit, player, desired.exchange, desired.release);
    judgeRegistries(kit, desired.exchange, desired.release);
  }
  const { enrolled } = player;
  if (enrolled === null) return skipFirstStart(kit, "the answer to the enrollment cannot be used");
  const first = enrolled.release === version
    ? desired
    : await readManifest(kit, player, enrolled.release);
  if (first !== null) return judgeFirstStart(kit, player, enrolled, first.release);
  skipFirstStart(kit, "the manifest of the enrollment's release cannot be used");
}

/** A release of the portal, and how it came. */
interface Manifest {
  readonly release: Release;
  readonly exchange: Exchange;
}

async function readManifest(kit: Kit, player: Player, version: string): Promise<Manifest | null> {
  const exchange = await kit.ask(player, { method: "GET", path: pathOf(version) });
  if (!kit.expect("manifest.available", exchange, ACCEPTED)) return null;
  const body = exchange.answer?.json;
  if (body === undefined) return null;
  const payload = judgeEnvelope(kit, exchange, body);
  if (payload === null) return null;
  const parsed = parseBody(payload);
  if (!parsed.ok) {
    kit.book.fail("manifest.schema", findingOf(exchange, "JSON inside", parsed.error.message));
    return null;
  }
  const named = isJsonObject(parsed.value) ? parsed.value["version"] : undefined;
  if (named === version) kit.book.pass("manifest.version");
  else kit.book.fail("manifest.version", findingOf(exchange, `release ${version}`, "another one"));
  const release = judgeDocument(kit, "manifest.schema", Release, parsed.value, exchange);
  if (!kit.book.hasFailed("manifest.urls")) kit.book.pass("manifest.urls");
  return release === null ? null : { release, exchange };
}

function pathOf(version: string): string {
  return `/releases/${encodeURIComponent(version)}/manifest`;
}

/** The bytes that are signed, or null where it is no envelope. */
function judgeEnvelope(kit: Kit, exchange: Exchange, body: JsonValue): Uint8Array | null {
  const envelope = Envelope.safeParse(body);
  const fault = envelope.success
    ? faultOf(envelope.data)
    : describeIssue(envelope.error, ["envelope"]);
  if (!envelope.success || fault !== null) {
    kit.book.fail("manifest.envelope", findingOf(exchange, "a DSSE envelope", fault ?? ""));
    return null;
  }
  kit.book.pass("manifest.envelope");
  const payload = decodeBase64(envelope.data.payload) ?? new Uint8Array(0);
  judgeSignatures(kit, exchange, envelope.data, payload);
  return payload;
}

function faultOf({ payloadType, payload, signatures }: Envelope): string | null {
  if (payloadType !== RELEASE_PAYLOAD_TYPE) return `payloadType is not ${RELEASE_PAYLOAD_TYPE}`;
  if (decodeBase64(payload) === null) return "payload is no standard base64 with padding";
  if (signatures.length === 0) return "signatures is empty";
  return signatures.every(({ sig }) => decodeBase64(sig)?.length === 64)
    ? null
    : "a sig is no base64 of 64 bytes";
}

function judgeSignatures(
  kit: Kit,
  exchange: Exchange,
  envelope: Envelope,
  payload: Uint8Array,
): void {
  const { releaseKeys } = kit.options;
  const signed = pae(RELEASE_PAYLOAD_TYPE, payload);
  let doesHold = false;
  for (const { keyid, sig } of envelope.signatures) {
    const signature = decodeBase64(sig) ?? new Uint8Array(0);
    // Whatever ID stands beside it: a wrong one is another fault than a wrong signature.
    const signer = releaseKeys.find((key) => verify(key, signature, signed));
    doesHold ||= signer !== undefined;
    const expected = signer === undefined ? "16 hex digits" : keyId(signer);
    const isRight = signer === undefined ? /^[0-9a-f]{16}$/.test(keyid ?? "") : keyid === expected;
    if (isRight) kit.book.pass("manifest.key_ids");
    else {
      const came = `keyid ${(keyid ?? "(none)").slice(0, 40)}`;
      kit.book.fail("manifest.key_ids", findingOf(exchange, expected, came));
    }
  }
  if (releaseKeys.length === 0) {
    return kit.book.skip("manifest.signature", "no release key is given");
  }
  if (doesHold) return kit.book.pass("manifest.signature");
  const expected = `a signature by ${releaseKeys.map(keyId).join(" or ")}`;
  kit.book.fail("manifest.signature", findingOf(exchange, expected, "none that holds"));
}

/** The kit's node has no approval keys, so what the release does not name is refused there. */
function judgeRegistries(kit: Kit, exchange: Exchange, release: Release): void {
  const desired = DesiredState.safeParse(kit.desired);
  if (!desired.success || desired.data.host.registries === undefined) return;
  const checked = checkRegistries(desired.data, release);
  if (checked.ok) return kit.book.pass("desired.registries");
  const about: Exchange = { ...exchange, sent: "the desired state beside its release" };
  const finding = findingOf(about, "registries that the release names", checked.error);
  kit.book.fail("desired.registries", finding);
}

function judgeAddons(kit: Kit, player: Player, exchange: Exchange, release: Release): void {
  const desired = DesiredState.safeParse(kit.desired);
  if (!desired.success) return;
  const about: Exchange = { ...exchange, sent: "the desired state beside its release" };
  const options = checkOptions(desired.data, release, [player.keys.sealing]);
  if (!options.ok) {
    const { code, message } = options.error;
    const [rule, expected] = code === "unsealed_secret"
      ? ["sealing.options", "secret_options"] as const
      : ["desired.addons", "options that the release knows, within their limits"] as const;
    kit.book.fail(rule, findingOf(about, expected, message));
    return;
  }
  for (const addon of desired.data.addons) {
    const template = Object.hasOwn(release.addons, addon.name)
      ? release.addons[addon.name]
      : undefined;
    const declared = Object.values(template?.options ?? {});
    if (declared.some(({ secret }) => secret === true)) kit.book.pass("sealing.options");
    const resolved = template === undefined ? null : resolveOptions(addon, template);
    const fault = resolved === null
      ? "is no add-on of the release"
      : addon.enabled && !resolved.ok
      ? resolved.error
      : null;
    if (fault === null) kit.book.pass("desired.addons");
    else {
      const came = `${addon.name}: ${fault}`;
      kit.book.fail("desired.addons", findingOf(about, "an add-on of the release", came));
    }
  }
}
