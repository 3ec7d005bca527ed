import assert from "node:assert/strict";
import fc from "fast-check";
import type { Meaning } from "../../../core/protocol/answer.ts";
import { FRESH_MEMORY, type Memory, reactionTo } from "../../../core/protocol/reaction.ts";

const SUCCESS: Meaning = { kind: "success", body: {}, unfit: [] };
const REPLAYED: Meaning = { kind: "replayed" };
const SKEW: Meaning = { kind: "clock_skew", portalTime: 0 };
const REJECTED: Meaning = { kind: "rejected", status: 400, code: "bad_request", message: "m" };
const TROUBLE: Meaning = { kind: "trouble", code: "http_500", message: "m" };
const WAIT: Meaning = { kind: "wait", ms: 7_000 };
const UNAUTHORIZED: Meaning = { kind: "unauthorized", code: "revoked", message: "m" };
const TOO_OLD: Meaning = { kind: "too_old", release: "1.5.0" };

/** What is done after each of the answers, in their order. */
function reactionsTo(...answers: readonly Meaning[]): string[] {
  let memory: Memory = FRESH_MEMORY;
  return answers.map((answer) => {
    const { reaction, memory: after } = reactionTo(answer, memory);
    memory = after;
    return reaction.do;
  });
}

Deno.test("reactionTo: the table for signed requests", () => {
  const table: [string, readonly Meaning[], readonly string[]][] = [
    ["200", [SUCCESS], ["apply"]],
    ["401 at once", [UNAUTHORIZED], ["stop"]],
    ["426 with a release", [TOO_OLD], ["update"]],
    ["426 without one", [{ kind: "too_old", release: null }], ["back_off"]],
    ["429", [WAIT], ["wait"]],
    ["5xx, malformed, no network", [TROUBLE, TROUBLE, TROUBLE, TROUBLE], [
      ...["back_off", "back_off", "back_off", "back_off"],
    ]],
    ["400 three times in all", [REJECTED, REJECTED, REJECTED, REJECTED], [
      ...["back_off", "back_off", "give_up", "give_up"],
    ]],
    ["trouble between does not give it more", [REJECTED, TROUBLE, REJECTED, WAIT, REJECTED], [
      ...["back_off", "back_off", "back_off", "wait", "give_up"],
    ]],
    ["a success forgets", [REJECTED, REJECTED, SUCCESS, REJECTED], [
      ...["back_off", "back_off", "apply", "back_off"],
    ]],
    ["replayed once", [REPLAYED, SUCCESS], ["sign_again", "apply"]],
    ["replayed twice in a row", [REPLAYED, REPLAYED], ["sign_again", "back_off"]],
    ["replayed counts as a refusal", [REJECTED, REPLAYED, REJECTED], [
      ...["back_off", "sign_again", "give_up"],
    ]],
    ["never a fourth time", [REJECTED, REJECTED, REPLAYED], ["back_off", "back_off", "give_up"]],
    ["clock skew once", [SKEW, SUCCESS], ["sign_again", "apply"]],
    ["clock skew twice in a row", [SKEW, SKEW, SKEW], ["sign_again", "back_off", "back_off"]],
    ["clock skew apart", [SKEW, SUCCESS, SKEW], ["sign_again", "apply", "sign_again"]],
    ["clock skew after other trouble", [SKEW, TROUBLE, SKEW], [
      ...["sign_again", "back_off", "sign_again"],
    ]],
    ["both in turn end", [REPLAYED, SKEW, REPLAYED, SKEW, REPLAYED], [
      ...["sign_again", "sign_again", "sign_again", "sign_again", "give_up"],
    ]],
  ];
  for (const [name, answers, expected] of table) {
    assert.deepEqual(reactionsTo(...answers), expected, name);
  }
});

Deno.test("reactionTo: a refusal without a code is named by its status", () => {
  const { reaction } = reactionTo({ ...REJECTED, status: 404, code: "" }, FRESH_MEMORY);
  assert.deepEqual(reaction, { do: "back_off", code: "http_404", message: "m" });
});

Deno.test("reactionTo: no sequence of answers makes the agent sign the same request for ever", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(REPLAYED, SKEW, REJECTED, TROUBLE, WAIT), { maxLength: 40 }),
      (answers) => {
        let again = 0;
        for (const done of reactionsTo(...answers)) {
          again = done === "sign_again" ? again + 1 : 0;
          assert.ok(again <= 4, answers.map(({ kind }) => kind).join(" "));
        }
        const refusals = answers.filter((one) => one === REJECTED || one === REPLAYED).length;
        if (refusals >= 3) assert.ok(reactionsTo(...answers).includes("give_up"));
      },
    ),
    { seed: 12, numRuns: 500 },
  );
});
