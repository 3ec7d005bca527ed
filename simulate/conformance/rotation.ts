import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { rotationProof } from "../../core/protocol/rotate_key.ts";
import { openAll, scanSyncAnswer } from "../../core/protocol/secret_positions.ts";
import { sign } from "../../core/protocol/signing.ts";
import { ACCEPTED, REFUSED } from "./expected.ts";
import { type Keys, newKeys } from "./keys.ts";
import { findingOf, type Kit, type Player } from "./kit.ts";
import { reportOf } from "./report_body.ts";
import type { Exchange } from "./wire.ts";

/** New keys for an agent, with everything that may get lost on the way. */
export async function walkRotation(kit: Kit, player: Player): Promise<void> {
  const old = player.keys;
  const next = newKeys(kit.options.random);
  const rotate = (body: JsonObject, by: Keys, as: string) =>
    kit.ask(player, { path: "/rotate-key", body, by: by.signing, as });

  const unproven = await rotate(request(player, next, old), old, "proven by the old key");
  if (!kit.expect("rotate.proof", unproven, REFUSED)) return;
  const body = request(player, next, next);
  const first = await rotate(body, old, "");
  if (!kit.expect("rotate.accepted", first, ACCEPTED)) return;
  if (!isJsonObject(first.answer?.json)) {
    kit.book.fail("rotate.accepted", findingOf(first, "{}", "no object"));
  }
  const byOld = await rotate(body, old, "again, signed with the old key");
  kit.expect("rotate.again_old", byOld, ACCEPTED);
  const byNew = await rotate(body, next, "again, signed with the new key");
  kit.expect("rotate.again_new", byNew, ACCEPTED);

  player.keys = next;
  const synced = await kit.ask(player, {
    path: "/sync",
    body: reportOf(kit, player),
    as: "signed with the new key",
  });
  if (!kit.expect("rotate.new_key", synced, ACCEPTED)) return;
  judgeBoxes(kit, synced, next, old);
  const late = await rotate(body, next, "again after that report, signed with the new key");
  kit.expect("rotate.again_new", late, ACCEPTED);
  const retired = await kit.ask(player, {
    path: "/sync",
    body: reportOf(kit, player),
    by: old.signing,
    as: "signed with the old key",
  });
  kit.expect("rotate.old_key", retired, REFUSED);
}

function judgeBoxes(kit: Kit, exchange: Exchange, next: Keys, old: Keys): void {
  const body = exchange.answer?.json;
  const found = body === undefined ? null : scanSyncAnswer(body);
  if (found === null || !found.ok || found.value.length === 0) {
    return kit.book.skip("rotate.seals", "the answer had no sealed boxes");
  }
  if (openAll(found.value, [next.sealing]).ok) return kit.book.pass("rotate.seals");
  const isOld = openAll(found.value, [old.sealing]).ok;
  const came = isOld ? "boxes for the old key" : "boxes that do not open";
  kit.book.fail("rotate.seals", findingOf(exchange, "boxes for the new key", came));
}

/** A rotation to `next` whose proof is signed by `by`. */
function request({ id }: Player, next: Keys, by: Keys): JsonObject {
  const proof = sign(by.signing, rotationProof(id, next.public));
  return { public_keys: { ...next.public }, proof: encodeBase64(proof) };
}
