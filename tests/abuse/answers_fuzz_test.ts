import assert from "node:assert/strict";
import { judgeSyncAnswer } from "../../core/agent/judge.ts";
import type { JsonValue } from "../../core/json.ts";
import { meaningOf } from "../../core/protocol/answer.ts";
import { EventsAnswer } from "../../core/protocol/operation.ts";
import { ok } from "../../core/result.ts";
import { AGENT } from "../../fixtures/source/material.ts";
import { documentsFor, WORDS } from "./documents.ts";
import { type Dice, fuzz } from "./fuzz.ts";
import { mutate } from "./mutate.ts";
import { isEventsAnswer, judgeSync } from "./oracle.ts";

const DOCUMENTS = documentsFor(AGENT.sealing);
const KEYS = {
  publicKey: AGENT.sealing.publicKey,
  secretKey: AGENT.sealing.secretKey.reveal(),
};

Deno.test("judgeSyncAnswer: says of 4,000 spoiled answers what the oracle says", async () => {
  const seen = new Map<string, number>();
  await fuzz("sync answer", 4_000, (dice) => {
    const bytes = mutate(dice, goodAnswer(dice), WORDS);
    const expected = judgeSync(bytes, KEYS);
    const read = bodyOf(bytes);
    const judged = read === undefined
      ? null
      : judgeSyncAnswer(read.body, [AGENT.sealing], read.unfit);
    const verdict = judged === null || judged.kind === "malformed"
      ? "malformed"
      : judged.kind === "refused"
      ? judged.code
      : "usable";
    assert.equal(verdict, expected.verdict, shown(bytes));
    if (judged?.kind === "usable") {
      const names = { unchanged: "none", desired: "valid", faulty: "faulty" } as const;
      assert.equal(names[judged.offered.kind], expected.desired, shown(bytes));
      assert.ok(Number.isFinite(judged.portalTime), shown(bytes));
    }
    if (judged !== null && "message" in judged) assertNoSecret(judged.message);
    const kind = `${expected.verdict} ${expected.desired ?? ""}`;
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  });
  // A fuzzer that only makes rubbish proves nothing: every verdict must have come up often enough.
  for (
    const kind of [
      "malformed ",
      "unsealed_secret ",
      "undecryptable_secret ",
      "usable valid",
    ]
  ) {
    assert.ok((seen.get(kind) ?? 0) > 40, `${kind}: ${JSON.stringify([...seen])}`);
  }
  assert.ok((seen.get("usable faulty") ?? 0) > 40, JSON.stringify([...seen]));
  // The mutations seldom move a whole box; every pair of positions is in unit/protocol/bound_box_test.ts.
  assert.ok((seen.get("misplaced_secret ") ?? 0) > 15, JSON.stringify([...seen]));
});

Deno.test("EventsAnswer: takes of 700 spoiled answers those that the oracle takes", async () => {
  await fuzz("events answer", 700, (dice) => {
    const bytes = mutate(dice, { acked: dice.below(5), more: { x: [1] } }, WORDS);
    const read = bodyOf(bytes);
    const taken = read?.unfit.length === 0 && EventsAnswer.safeParse(read.body).success;
    assert.equal(taken, isEventsAnswer(bytes), shown(bytes));
  });
});

function goodAnswer(dice: Dice): JsonValue {
  const answer = DOCUMENTS.syncAnswer(dice.below(1_000), dice.chance(60));
  return dice.chance(40) ? { ...answer, operation: DOCUMENTS.operation("op-1") } : answer;
}

function bodyOf(bytes: Uint8Array) {
  const headers = { "content-type": "application/json" };
  const meaning = meaningOf(ok({ status: 200, headers, body: bytes }), 0);
  return meaning.kind === "success" ? meaning : undefined;
}

function assertNoSecret(text: string): void {
  for (const word of WORDS.plain) assert.ok(!text.includes(word), "a message shows a secret");
}

function shown(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).slice(0, 3_000);
}
