import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { EnrollAnswer } from "../../core/protocol/enroll.ts";
import { Rfc3339 } from "../../core/protocol/identifiers.ts";
import { scanEnrollAnswer } from "../../core/protocol/secret_positions.ts";
import { Secret } from "../../core/secret.ts";
import { contentOf, judgeDocument, judgeSecrets } from "./documents.ts";
import { ACCEPTED, type Expected, refusal, REFUSED } from "./expected.ts";
import { type Keys, newKeys } from "./keys.ts";
import { bytesOf, findingOf, type Kit, PLAIN_HEADERS, type Player } from "./kit.ts";
import type { TokenEntry } from "./token_entry.ts";
import type { RuleId } from "./rules.ts";
import type { Exchange } from "./wire.ts";

/** How long the first answer is left to age, so that a repeated `time` shows. */
const AGE_MS = 2_100;
/** How far `time` may be from the present: seconds may be cut off, and an answer takes its way. */
const TIME_SLACK_MS = 1_500;

/** Enrolls two agents, after everything that must not enroll one, and tries their tokens once more. */
export async function walkEnrollment(kit: Kit): Promise<void> {
  const [expired] = kit.options.tokens.filter((entry) => entry.expired);
  const fresh = kit.options.tokens.filter((entry) => !entry.expired);
  await tryUnknown(kit, fresh[0] ?? expired);
  if (expired !== undefined) {
    await refused(kit, "enroll.expired_token", expired, {}, "with an expired token", {
      expected: refusal(401, "token_expired"),
    });
  }
  const image = fresh.find((entry) => entry.imageSha256 !== null);
  if (image !== undefined) {
    const another = { boot_image_sha256: "0123456789abcdef".repeat(4) };
    await refused(kit, "enroll.image", image, another, "with another boot image", {
      expected: refusal(409, "image_mismatch"),
    });
  }
  for (const attempt of ATTEMPTS) {
    const entry = fresh[0];
    if (entry === undefined) break;
    const { rule, as, expected } = attempt;
    const isRefused = await refused(kit, rule, entry, attempt.changes(entry), as, { expected });
    // A token that did enroll somebody is of no more use.
    if (!isRefused) fresh.shift();
  }
  const [first, second] = fresh;
  if (first === undefined) return;
  kit.main = await enroll(kit, first, (player, exchange) => askAgain(kit, player, exchange));
  if (second !== undefined) kit.second = await enroll(kit, second);
}

interface Attempt {
  readonly rule: RuleId;
  readonly as: string;
  readonly expected: Expected;
  changes(entry: TokenEntry): JsonObject;
}

/** What an unused token must not be good for. */
const ATTEMPTS: readonly Attempt[] = [
  {
    rule: "enroll.other_server",
    as: "from another server",
    expected: refusal(401, "server_mismatch"),
    changes: (entry) => ({ server_id: otherServer(entry) }),
  },
  {
    rule: "enroll.other_cluster",
    as: "for another cluster",
    expected: REFUSED,
    changes: () => ({ cluster_id: "pbx-conformance-other" }),
  },
  {
    rule: "enroll.other_node",
    as: "for another node",
    expected: REFUSED,
    changes: () => ({ node_name: "pbx-conformance-other" }),
  },
  {
    rule: "enroll.key_length",
    as: "with a signing key of 31 bytes",
    expected: REFUSED,
    changes: () => ({
      public_keys: {
        signing: encodeBase64(new Uint8Array(31).fill(7)),
        sealing: encodeBase64(new Uint8Array(32).fill(9)),
      },
    }),
  },
];

async function tryUnknown(kit: Kit, entry: TokenEntry | undefined): Promise<void> {
  const known = entry ??
    { clusterId: "demo", nodeName: "demo-1", serverId: "1", expired: false };
  const token = new Secret(`pbx-conformance-${encodeBase64(kit.options.random.bytes(18))}`);
  const unknown = { ...known, imageSha256: null, k3sTokenSha256: null, token };
  await refused(kit, "enroll.unknown_token", unknown, {}, "with an unknown token", {
    expected: refusal(401, "invalid_token"),
  });
}

async function refused(
  kit: Kit,
  rule: RuleId,
  entry: TokenEntry,
  changes: JsonObject,
  as: string,
  { expected, keys = newKeys(kit.options.random) }: { expected: Expected; keys?: Keys },
): Promise<boolean> {
  return kit.expect(rule, await post(kit, entry, keys, as, changes), expected);
}

async function enroll(
  kit: Kit,
  entry: TokenEntry,
  then?: (player: Player, exchange: Exchange) => Promise<void>,
): Promise<Player | null> {
  const keys = newKeys(kit.options.random);
  const exchange = await post(kit, entry, keys, "");
  if (!kit.expect("enroll.accepted", exchange, ACCEPTED)) return null;
  const body = exchange.answer?.json;
  const enrolled = judge(kit, entry, keys, exchange);
  const id = isJsonObject(body) ? body["agent_id"] : undefined;
  if (typeof id !== "string") return null;
  learnTime(kit, body);
  const player: Player = { id, entry, keys, enrolled, reports: 0 };
  await then?.(player, exchange);
  return player;
}

function judge(
  kit: Kit,
  entry: TokenEntry,
  keys: Keys,
  exchange: Exchange,
): EnrollAnswer | null {
  const body = exchange.answer?.json;
  if (!isJsonObject(body)) return null;
  const k3s = isJsonObject(body["k3s"]) ? body["k3s"] : {};
  const config = scanEnrollAnswer({ k3s: { config: k3s["config"] ?? null } });
  if (config.ok) kit.book.pass("sealing.config");
  else kit.book.fail("sealing.config", findingOf(exchange, "no secret", config.error.message));

  const scanned = scanEnrollAnswer({ ...body, k3s: { ...k3s, config: {} } });
  const rules = { sealed: "sealing.enroll", opens: "sealing.enroll_opens" } as const;
  judgeSecrets(kit, rules, scanned, [keys.sealing], exchange);
  const answer = scanned.ok
    ? judgeDocument(kit, "enroll.schema", EnrollAnswer, body, exchange)
    : null;
  for (const [name, sent] of [["cluster_id", entry.clusterId], ["node_name", entry.nodeName]]) {
    if (body[name ?? ""] === sent) kit.book.pass("enroll.names");
    else kit.book.fail("enroll.names", findingOf(exchange, `${name} ${sent}`, "another one"));
  }
  // What k3s gets is judged beside its release; a secret in there has a rule of its own.
  return config.ok ? answer : null;
}

/** A token that was used: nobody else gets anything for it, and the same server the same answer. */
async function askAgain(kit: Kit, player: Player, first: Exchange): Promise<void> {
  const { entry, keys } = player;
  const askedAt = kit.options.clock.now();
  await refused(kit, "enroll.other_keys", entry, {}, "again, with other keys", {
    expected: refusal(401, "token_used"),
  });
  const elsewhere = { server_id: otherServer(entry) };
  await refused(kit, "enroll.other_server_later", entry, elsewhere, "again, from another server", {
    expected: refusal(401, "token_used", "server_mismatch"),
    keys,
  });
  const age = kit.options.clock.now() - askedAt;
  await kit.options.clock.sleep(Math.max(0, AGE_MS - age));
  const again = await post(kit, entry, keys, "again, the same");
  if (!kit.expect("enroll.same_answer", again, ACCEPTED)) return;
  const [before, after] = [first.answer?.json, again.answer?.json];
  if (!isJsonObject(before) || !isJsonObject(after)) return;
  const differing = Object.keys({ ...before, ...after }).filter((name) =>
    name !== "time" && content(before[name], keys) !== content(after[name], keys)
  );
  if (differing.length > 0) {
    const came = `another ${differing.join(", ").slice(0, 200)}`;
    kit.book.fail("enroll.same_answer", findingOf(again, "the same but for time", came));
  }
  const times = [before["time"], after["time"]];
  if (!times.every((time) => Rfc3339.safeParse(time).success)) return;
  const [then = 0, now = 0] = times.map((time) => Date.parse(String(time)));
  const passed = kit.options.clock.now() - askedAt;
  if (Math.abs(now - then - passed) <= TIME_SLACK_MS) kit.book.pass("enroll.present_time");
  else {
    const expected = `a time ${passed} ms after the first answer's`;
    const came = `one ${now - then} ms after it`;
    kit.book.fail("enroll.present_time", findingOf(again, expected, came));
  }
}

function content(value: JsonValue | undefined, keys: Keys): string {
  return value === undefined ? "" : contentOf(value, [keys.sealing]);
}

async function post(
  kit: Kit,
  entry: TokenEntry,
  keys: Keys,
  as: string,
  changes: JsonObject = {},
): Promise<Exchange> {
  const body = {
    protocol: 1,
    token: entry.token.reveal(),
    cluster_id: entry.clusterId,
    node_name: entry.nodeName,
    server_id: entry.serverId,
    public_keys: keys.public,
    boot_image_sha256: entry.imageSha256,
    agent_version: kit.options.agentVersion,
    arch: kit.options.arch,
    ...changes,
  } as JsonObject;
  return await kit.send({
    method: "POST",
    path: "/enroll",
    headers: PLAIN_HEADERS,
    body: bytesOf(body),
    as,
  });
}

function otherServer({ serverId }: TokenEntry): string {
  return serverId === "1" ? "2" : "1";
}

function learnTime(kit: Kit, body: JsonValue | undefined): void {
  const time = isJsonObject(body) ? body["time"] : undefined;
  if (Rfc3339.safeParse(time).success) kit.learnTime(Date.parse(String(time)));
}
