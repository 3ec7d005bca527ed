import assert from "node:assert/strict";
import { operationDetail, operationList } from "../../../cli/operations_text.ts";
import type { OperationView } from "../../../core/agent/operations_view.ts";

const DONE: OperationView = {
  id: "rotate-1",
  kind: "agent.rotate_key",
  state: "succeeded",
  begun_at: "2026-01-01T12:00:00.000Z",
  ended_at: "2026-01-01T12:01:05.000Z",
  reported: true,
  steps: [
    {
      name: "generate",
      started_at: "2026-01-01T12:00:00.000Z",
      ended_at: null,
      state: "running",
    },
    {
      name: "generate",
      started_at: "2026-01-01T12:00:10.000Z",
      ended_at: "2026-01-01T12:00:11.000Z",
      state: "succeeded",
      evidence: "the next keys are stored",
    },
  ],
  result: { state: "succeeded", output: { keys_created_at: "2026-01-01T12:00:10.000Z", count: 2 } },
};
const REFUSED: OperationView = {
  id: "o2",
  kind: "node.dance",
  state: "unsupported",
  begun_at: "2026-01-02T12:00:00.000Z",
  ended_at: "2026-01-02T12:00:00.000Z",
  reported: false,
  steps: [],
  result: { state: "unsupported", message: 'this agent has no operation "node.dance"' },
};

Deno.test("operationList: a line for each, columns aligned", () => {
  assert.equal(
    operationList([REFUSED, DONE]),
    [
      "begun (UTC)          id        kind              state        step or code",
      "2026-01-02 12:00:00  o2        node.dance        unsupported                not reported yet",
      "2026-01-01 12:00:00  rotate-1  agent.rotate_key  succeeded    generate",
      "",
    ].join("\n"),
  );
  assert.equal(operationList([]), "no operations in the last 30 days\n");
});

Deno.test("operationDetail: steps with times and evidence, a step cut short too, output, log", () => {
  assert.equal(
    operationDetail(DONE, ["12:00:10 a line", "12:00:11 another"]),
    [
      "rotate-1: agent.rotate_key, succeeded",
      "begun 2026-01-01T12:00:00.000Z, ended 2026-01-01T12:01:05.000Z",
      "",
      "steps",
      "  generate             12:00:00 cut short   begun anew below",
      "  generate             12:00:10 to 12:00:11 succeeded",
      "                       the next keys are stored",
      "",
      "output",
      "  keys_created_at      2026-01-01T12:00:10.000Z",
      "  count                2",
      "",
      "log",
      "  12:00:10 a line",
      "  12:00:11 another",
      "",
    ].join("\n"),
  );
});

Deno.test("operationDetail: one that never began, and one that runs", () => {
  assert.equal(
    operationDetail(REFUSED, []),
    [
      "o2: node.dance, unsupported, not reported yet",
      "begun 2026-01-02T12:00:00.000Z, ended 2026-01-02T12:00:00.000Z",
      'this agent has no operation "node.dance"',
      "",
      "steps",
      "  none was begun",
      "",
      "log",
      "  none",
      "",
    ].join("\n"),
  );
  const [step] = DONE.steps;
  assert.ok(step !== undefined);
  const running = operationDetail(
    { ...DONE, state: "running", ended_at: null, steps: [step], result: null },
    [],
  );
  assert.match(running, /^ {2}generate {13}12:00:00 to now {6}running$/m);
  assert.doesNotMatch(running, /ended|output/);
});

Deno.test("operationDetail: what steers a terminal and what fills it are not printed", () => {
  const odd: OperationView = {
    ...REFUSED,
    kind: "\x1b[2Jkind\n\u202e",
    result: {
      state: "failed",
      message: "one\nsteps\x07\u2066",
      output: { bundle: "x".repeat(100_000) },
    },
  };
  const text = operationList([odd]) + operationDetail(odd, ["a \x1b]0;title\x07\u202e"]);
  // deno-lint-ignore no-control-regex -- they are what must not be there
  assert.doesNotMatch(text, /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]/);
  assert.match(text, /^o2 {2}|\\u001b\[2Jkind\\n\\u202e/m);
  // A second line of a message does not look like a part of the report.
  assert.match(text, /^one\n {2}steps\\u0007\\u2066$/m);
  assert.match(text, /bundle +\(100000 characters: see --json\)/);
});
