import assert from "node:assert/strict";
import type { Meaning } from "../../../core/protocol/answer.ts";
import { type EnrollMemory, enrollReactionTo } from "../../../core/protocol/enroll_reaction.ts";

const FRESH: EnrollMemory = { tokenRefused: 0, requestRefused: 0 };

function rejected(status: number, code: string): Meaning {
  return { kind: "rejected", status, code, message: "m" };
}

function reactionsTo(...answers: readonly Meaning[]): string[] {
  let memory = FRESH;
  return answers.map((answer) => {
    const { reaction, memory: after } = enrollReactionTo(answer, memory);
    memory = after;
    return reaction.do;
  });
}

Deno.test("enrollReactionTo: the table of the enrollment", () => {
  const unauthorized = (code: string): Meaning => ({ kind: "unauthorized", code, message: "m" });
  const trouble: Meaning = { kind: "trouble", code: "http_503", message: "m" };
  const three = ["back_off", "back_off", "idle"];
  const table: [string, readonly Meaning[], readonly string[]][] = [
    ["200", [{ kind: "success", body: {}, unfit: [] }], ["store"]],
    ["401 of every kind", [
      ...["invalid_token", "token_used", "token_expired", "server_mismatch"].map(unauthorized),
    ], [...three, "idle"]],
    ["401 without a code", [unauthorized(""), unauthorized(""), unauthorized("")], three],
    ["401 with trouble between", [unauthorized(""), trouble, unauthorized(""), unauthorized("")], [
      ...["back_off", "back_off", "back_off", "idle"],
    ]],
    ["409 image_mismatch", [rejected(409, "image_mismatch")], ["idle"]],
    ["426", [{ kind: "too_old", release: "1.5.0" }], ["idle"]],
    ["426 without a release", [{ kind: "too_old", release: null }], ["idle"]],
    ["409 conflict, for ever", Array<Meaning>(5).fill(rejected(409, "conflict")), [
      ...Array(5).fill("back_off"),
    ]],
    ["5xx, no network, malformed", Array<Meaning>(5).fill(trouble), Array(5).fill("back_off")],
    ["429", [{ kind: "wait", ms: 9_000 }], ["wait"]],
    ["400", Array<Meaning>(3).fill(rejected(400, "bad_request")), three],
    ["other 4xx and 3xx", [rejected(404, ""), rejected(302, ""), rejected(413, "x")], three],
    ["409 of another kind", Array<Meaning>(3).fill(rejected(409, "")), three],
    ["image_mismatch only as 409", Array<Meaning>(3).fill(rejected(400, "image_mismatch")), three],
    ["what only signed requests are told", [
      { kind: "replayed" },
      { kind: "clock_skew", portalTime: 0 },
      { kind: "replayed" },
    ], three],
  ];
  for (const [name, answers, expected] of table) {
    assert.deepEqual(reactionsTo(...answers), expected, name);
  }
});

Deno.test("enrollReactionTo: tries of a token are counted on from those of earlier runs", () => {
  const answer: Meaning = { kind: "unauthorized", code: "token_used", message: "401 token_used" };
  const { reaction, memory } = enrollReactionTo(answer, { tokenRefused: 2, requestRefused: 0 });
  assert.deepEqual(memory, { tokenRefused: 3, requestRefused: 0 });
  assert.ok(reaction.do === "idle" && reaction.code === "token_used");
  assert.match(reaction.message, /new server with a new token/);
});
