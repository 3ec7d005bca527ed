import assert from "node:assert/strict";
import type { JsonValue } from "../../core/json.ts";
import { type Meaning, meaningOf } from "../../core/protocol/answer.ts";
import { enrollReactionTo } from "../../core/protocol/enroll_reaction.ts";
import { FRESH_MEMORY, reactionTo } from "../../core/protocol/reaction.ts";
import { ok } from "../../core/result.ts";
import { WORDS } from "./documents.ts";
import { type Dice, fuzz, SEED } from "./fuzz.ts";
import { footprintOf } from "./footprint.ts";
import { answered, assertHarmless, enrolled } from "./live.ts";
import { mutate } from "./mutate.ts";
import { mutateBytes } from "./mutate_bytes.ts";
import { json } from "./replies.ts";
import type { Question, World } from "./world.ts";

const STATUSES = [100, 199, 200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 405, 409, 413, 418]
  .concat([426, 429, 431, 499, 500, 502, 503, 504, 599, 999]);
const CODES = ["clock_skew", "replayed", "protocol_too_old", "unknown_operation", "conflict"]
  .concat(["image_mismatch", "token_used", "revoked", "", "x".repeat(9_000), "a\nb\u001b[31m"]);
const TIMES = [
  "2026-01-01T00:00:00Z",
  "9999-12-31T23:59:59-23:59",
  "0000-01-01T00:00:00+23:59",
  "2026-02-30T00:00:00Z",
  "yesterday",
];
const RETRY_AFTER = [
  "0",
  "-1",
  "1e3",
  "9".repeat(400),
  "Mon, 01 Jan 2035 00:00:00 GMT",
  "soon",
  "",
];
const TYPES = ["application/json", "text/html", "application/problem+json; charset=utf-8", ""];

Deno.test("meaningOf and reactionTo: 1,500 spoiled error answers are read by their status", async () => {
  await fuzz("error", 1_500, (dice) => {
    const { status, headers, body } = errorAnswer(dice);
    const meaning = meaningOf(ok({ status, headers, body }), 1_767_225_600_000);
    assert.ok(JSON.stringify(meaning).length < 2_000 || meaning.kind === "success");
    const expected = kindsOf(status);
    assert.ok(expected.includes(meaning.kind), `${status} is read as ${meaning.kind}`);
    if ([401, 403, 407].includes(status)) {
      assert.equal(meaning.kind === "trouble" ? meaning.code : "not_the_portal", "not_the_portal");
      const isJson = (headers["content-type"] ?? "").startsWith("application/");
      assert.ok(meaning.kind === "trouble" || isJson, `${status} that is not JSON counts`);
    }
    if (meaning.kind === "clock_skew") {
      assert.match(new Date(meaning.portalTime).toISOString(), /^\d{4}-/);
    }
    if (meaning.kind === "wait") assert.ok(meaning.ms >= 1_000 && meaning.ms <= 3_600_000);
    reactionTo(meaning, FRESH_MEMORY);
    enrollReactionTo(meaning, { tokenRefused: 0, requestRefused: 0 });
  });
});

Deno.test("runAgent: 150 spoiled errors to any request change nothing and do not stop it", async () => {
  let world: World | null = null;
  let revision = 0;
  await fuzz("agent, error", 150, async (dice, index) => {
    if (world === null || index % 30 === 0) {
      await world?.stop();
      world = await enrolled(SEED + index);
    }
    const question = dice.pick<Question>(["sync", "sync", "manifest", "events"]);
    await live(dice, world, question, ++revision);
  });
  await (world as World | null)?.stop();
});

/** Bad answers to `question` in a row, then good ones; the agent may have to be started again. */
async function live(dice: Dice, world: World, question: Question, revision: number) {
  const before = footprintOf(world);
  world.forget();
  if (question === "manifest") world.disk.put("/var/lib/pbx-agent/release.json", "");
  await world.stop();
  world.start();
  let wrong = 1 + dice.below(4);
  const asking = {
    ...world.documents().syncAnswer(revision),
    ...(question === "manifest" ? {} : { desired: null, desired_tag: null }),
    ...(question === "events"
      ? { operation: { id: `op-${revision}`, kind: "unknown", params: {} } }
      : {}),
  };
  let seen = 0;
  world.answerWith((asked) => {
    if (asked.question === question && wrong > 0) {
      wrong--;
      seen++;
      return errorAnswer(dice);
    }
    return asked.question === "sync" ? json(200, asking) : undefined;
  });
  assert.ok(await world.until(() => seen > 0), `no ${question} came`);
  await world.clock.settle();
  assert.deepEqual(footprintOf(world), before);
  await assertHarmless(world);
  wrong = 0;

  // Revoked or given up: both last until a restart, and not one moment longer.
  await world.stop();
  world.start();
  const good = world.documents().syncAnswer(revision);
  const accepted = () => JSON.parse(footprintOf(world).desired)?.state.revision === revision;
  world.answerWith(({ question }) => question === "sync" ? json(200, good) : undefined);
  assert.ok(await world.until(accepted), "the agent does not go on");
  await answered(world, "sync", () => json(200, good));
  await assertHarmless(world);
}

function errorAnswer(dice: Dice) {
  const status = dice.pick(STATUSES);
  const document: JsonValue = {
    error: {
      code: dice.pick(CODES),
      message: dice.pick(["", "no", "m".repeat(20_000), "\u001b[2J\n{}"]),
      time: dice.pick(TIMES),
      release: dice.pick(["1.4.0", "../../x", "x".repeat(65), ""]),
    },
  };
  const body = dice.chance(80) ? mutate(dice, document, NO_WORDS) : rubbish(dice);
  const headers: Record<string, string> = { "content-type": dice.pick(TYPES) };
  if (dice.chance(60)) headers["retry-after"] = dice.pick(RETRY_AFTER);
  if (dice.chance(30)) headers["date"] = dice.pick(RETRY_AFTER);
  return { status, headers, body };
}

/** What an error says is shown to people: a portal that puts a secret there has shown it already. */
const NO_WORDS = { ...WORDS, plain: ["said"] };

function rubbish(dice: Dice): Uint8Array {
  return mutateBytes(dice, new TextEncoder().encode("<html>\n<h1>502 Bad Gateway</h1>\n"));
}

/** What an answer of that status may mean, whatever its body says. */
function kindsOf(status: number): readonly Meaning["kind"][] {
  if (status === 200) return ["success", "trouble"];
  if (status === 400) return ["rejected", "replayed"];
  // Without the protocol's error body a proxy has answered.
  if (status === 401) return ["unauthorized", "trouble"];
  if (status === 403 || status === 407) return ["rejected", "trouble"];
  if (status === 409) return ["rejected", "clock_skew"];
  if (status === 426) return ["too_old"];
  if (status === 429) return ["wait", "trouble"];
  return status >= 300 && status < 500 ? ["rejected"] : ["trouble"];
}
