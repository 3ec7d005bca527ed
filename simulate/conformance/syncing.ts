import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { DesiredState } from "../../core/protocol/desired_state.ts";
import { scanSyncAnswer } from "../../core/protocol/secret_positions.ts";
import type { SealingKey } from "../../core/protocol/sealing.ts";
import { DesiredTag, SyncAnswer } from "../../core/protocol/sync.ts";
import { contentOf, judgeDocument, judgeSecrets } from "./documents.ts";
import { ACCEPTED } from "./expected.ts";
import { findingOf, type Kit, type Player } from "./kit.ts";
import { reportOf, unusualReports } from "./report_body.ts";
import type { RuleId } from "./rules.ts";
import type { Exchange } from "./wire.ts";

/** Reports, and what the portal wants of the node. */
export async function walkSyncing(kit: Kit, player: Player): Promise<void> {
  const first = await kit.ask(player, { path: "/sync", body: reportOf(kit, player) });
  if (!kit.expect("signature.accepted", first, ACCEPTED)) return;
  const body = first.answer?.json;
  if (!isJsonObject(body)) return;
  judgeAnswer(kit, first, [player.keys.sealing]);
  kit.offered = body["operation"] ?? null;
  const { desired, desired_tag: tag } = body;
  if (!isWhole(kit, "sync.whole", first)) return;
  kit.desired = desired as JsonObject;
  if (typeof tag === "string") await reportTag(kit, player, kit.desired, tag);

  const other = { desired: { revision: 1, tag: "pbx-conformance-other" } };
  const stranger = await kit.ask(player, {
    path: "/sync",
    body: reportOf(kit, player, other),
    as: "with a tag that the portal never gave",
  });
  if (kit.expect("sync.other_tag", stranger, ACCEPTED)) isWhole(kit, "sync.other_tag", stranger);

  for (const [index, report] of unusualReports(kit, player).entries()) {
    const exchange = await kit.ask(player, {
      path: "/sync",
      body: report,
      as: `unusual report ${index + 1}`,
    });
    kit.expect("sync.every_report", exchange, ACCEPTED);
  }
}

/** Judges the answer to a sync: secrets first, then the envelope, then the desired state in it. */
export function judgeAnswer(kit: Kit, exchange: Exchange, keys: readonly SealingKey[]): void {
  const body = exchange.answer?.json;
  if (!isJsonObject(body)) return;
  // The operation has rules of its own; only that it stands there is the envelope's affair.
  const offered = body["operation"];
  const envelope = { ...body, ...(isJsonObject(offered) ? { operation: null } : {}) };
  const desired = scanSyncAnswer(envelope);
  const rules = { sealed: "sealing.desired", opens: "sealing.desired_opens" } as const;
  judgeSecrets(kit, rules, desired, keys, exchange);
  judgeDocument(kit, "sync.schema", SyncAnswer, envelope, exchange);
  if (body["desired"] === null || body["desired"] === undefined) return;
  const tag = DesiredTag.safeParse(body["desired_tag"]);
  if (tag.success) kit.book.pass("sync.tag");
  if (desired.ok) judgeDocument(kit, "desired.schema", DesiredState, body["desired"], exchange);
  if (!kit.book.hasFailed("desired.servers")) kit.book.pass("desired.servers");
}

/** Whether the answer has a desired state, as it must where the agent's tag is not the portal's. */
function isWhole(kit: Kit, rule: RuleId, exchange: Exchange): boolean {
  const body = exchange.answer?.json;
  if (isJsonObject(body) && isJsonObject(body["desired"])) {
    kit.book.pass(rule);
    return true;
  }
  kit.book.fail(rule, findingOf(exchange, "a desired state", "desired: null, or none"));
  return false;
}

async function reportTag(
  kit: Kit,
  player: Player,
  before: JsonObject,
  tag: string,
): Promise<void> {
  const known = { desired: { revision: before["revision"] ?? null, tag } };
  const exchange = await kit.ask(player, {
    path: "/sync",
    body: reportOf(kit, player, known),
    as: "with the portal's tag",
  });
  if (!kit.expect("sync.known_tag", exchange, ACCEPTED)) return;
  const body = exchange.answer?.json;
  if (!isJsonObject(body) || body["desired"] === null) return;
  const same = (value: JsonValue) => contentOf(value, [player.keys.sealing]);
  const isSame = body["desired_tag"] === tag && same(body["desired"] ?? null) === same(before);
  if (isSame) return;
  const came = body["desired_tag"] === tag ? "another state under it" : "a state with another tag";
  kit.book.fail("sync.known_tag", findingOf(exchange, "null, or the same under this tag", came));
}
