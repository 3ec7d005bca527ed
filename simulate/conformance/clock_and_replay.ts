import { isJsonObject } from "../../core/json.ts";
import { Rfc3339 } from "../../core/protocol/identifiers.ts";
import { ACCEPTED, refusal } from "./expected.ts";
import { bytesOf, findingOf, type Kit, type Player } from "./kit.ts";
import { reportOf } from "./report_body.ts";
import type { Exchange } from "./wire.ts";

/** How far the time of a `clock_skew` may be from the portal's other times. */
const SLACK_MS = 5_000;
/** Over the 60 s that the protocol allows, and far over it. */
const TOO_FAR_S = [75, 3_600] as const;
const TOLERATED_S = 50;
/** A signature from the edge of the future counts for so long; then it is tried again. */
const AHEAD_S = 55;
const LATER_MS = 100_000;

/** Timestamps that are off. */
export async function walkClock(kit: Kit, player: Player): Promise<void> {
  const dated = (seconds: number) =>
    kit.ask(player, {
      path: "/sync",
      body: reportOf(kit, player),
      at: Math.floor(kit.portalNow() / 1000) + seconds,
      as: seconds < 0 ? `dated ${-seconds} s back` : `dated ${seconds} s ahead`,
    });
  for (const seconds of TOO_FAR_S) {
    const late = await dated(-seconds);
    if (kit.expect("clock.late", late, refusal(409, "clock_skew"))) judgeTime(kit, late);
    const early = await dated(seconds);
    if (kit.expect("clock.early", early, refusal(409, "clock_skew"))) judgeTime(kit, early);
  }
  for (const seconds of [-TOLERATED_S, TOLERATED_S]) {
    kit.expect("clock.tolerance", await dated(seconds), ACCEPTED);
  }
}

function judgeTime(kit: Kit, exchange: Exchange): void {
  const body = exchange.answer?.json;
  const error = isJsonObject(body) ? body["error"] : undefined;
  const time = isJsonObject(error) ? error["time"] : undefined;
  const isTime = Rfc3339.safeParse(time).success;
  const off = isTime ? Date.parse(String(time)) - kit.portalNow() : 0;
  if (isTime && Math.abs(off) <= SLACK_MS) return kit.book.pass("clock.time");
  const came = isTime ? `a time ${Math.round(off / 1000)} s off that one` : "no RFC 3339 time";
  kit.book.fail("clock.time", findingOf(exchange, "the time that its other answers say", came));
}

/** The same bytes twice. */
export async function walkReplay(kit: Kit, player: Player): Promise<void> {
  const release = String(kit.desired?.["release"] ?? "");
  const manifest = { method: "GET", path: `/releases/${encodeURIComponent(release)}/manifest` };
  const report = { method: "POST", path: "/sync", body: reportOf(kit, player) };
  for (const { method, ...request } of release === "" ? [report] : [report, manifest]) {
    const sending = kit.prepare(player, { ...request, method: method === "GET" ? "GET" : "POST" });
    const first = await kit.send(sending);
    if (first.answer?.status !== 200) {
      kit.book.skip("replay.refused", `${first.sent} was not taken in the first place`);
      continue;
    }
    const again = await kit.send({ ...sending, as: "the same signature again" });
    kit.expect("replay.refused", again, refusal(400, "replayed"));
  }
  const body = bytesOf(reportOf(kit, player));
  const second = Math.floor(kit.portalNow() / 1000);
  for (const at of [second, second + 1]) {
    const as = at === second ? "" : "the same, signed for the next second";
    const exchange = await kit.ask(player, { path: "/sync", body, at, as });
    if (at !== second) kit.expect("replay.next_second", exchange, ACCEPTED);
  }
  if (kit.options.patient) await replayLate(kit, player);
}

/** A signature from the future still counts after 100 s, so it must still be remembered. */
async function replayLate(kit: Kit, player: Player): Promise<void> {
  const sending = kit.prepare(player, {
    path: "/sync",
    body: reportOf(kit, player),
    at: Math.floor(kit.portalNow() / 1000) + AHEAD_S,
    as: `dated ${AHEAD_S} s ahead`,
  });
  const first = await kit.send(sending);
  if (first.answer?.status !== 200) {
    return kit.book.skip("replay.memory", `${first.sent}: it was not taken in the first place`);
  }
  kit.options.progress?.("waiting 100 s for a replay that still counts");
  await kit.options.clock.sleep(LATER_MS);
  const again = await kit.send({ ...sending, as: `${sending.as}, again after 100 s` });
  kit.expect("replay.memory", again, refusal(400, "replayed"));
}
