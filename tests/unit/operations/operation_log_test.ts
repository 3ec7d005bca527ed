import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { openOperationLog, operationLogPath } from "../../../core/operations/operation_log.ts";
import { createRedactor } from "../../../core/operations/redact.ts";
import { Secret } from "../../../core/secret.ts";
import { createMachine } from "./machine.ts";
import { runToy, step, toy } from "./toy.ts";

const AT = "2026-01-01T12:00:00Z";
const PATH = "/var/lib/pbx-agent/ops/op-1.log";

async function open(disk = createFakeDisk(), redactor = createRedactor()) {
  disk.put("/var/lib/pbx-agent/keep", "");
  return { disk, redactor, log: await openOperationLog(disk, "op-1", redactor) };
}

Deno.test("operationLogPath: only what can be an operation's ID names a file", () => {
  assert.equal(operationLogPath("op-1"), PATH);
  for (const id of ["../x", "", "a/b", ".", "__proto__"]) {
    assert.throws(() => operationLogPath(id), RangeError);
  }
});

Deno.test("openOperationLog: lines with their time, the file for root alone, kept over a restart", async () => {
  const { disk, log } = await open();
  await log.write(AT, "one\ntwo\r\nthree  ");
  assert.equal(disk.text(PATH), `${AT} one\n${AT}   two\n${AT}   three\n`);
  const stat = await disk.stat(PATH);
  assert.equal(stat.ok && stat.value?.mode, 0o600);
  const after = await open(disk);
  await after.log.write(AT, "four");
  assert.deepEqual(await after.log.tail(2), [`${AT}   three`, `${AT} four`]);
});

Deno.test("openOperationLog: secrets are taken out, and what would steer a terminal is spelt out", async () => {
  const { log, redactor } = await open();
  redactor.know(new Secret("the-secret"));
  await log.write(AT, "a \x1b[31mred the-secret\x07\tb\x9b2J \u202egpj.x\u2028y");
  const expected = String.raw`a \u001b[31mred [secret]\u0007\tb\u009b2J \u202egpj.x\u2028y`;
  assert.deepEqual(await log.tail(1), [`${AT} ${expected}`]);
});

Deno.test("openOperationLog: it has a size, says that it is full, and takes the last words all the same", async () => {
  const { disk, log } = await open();
  // More than all of it at once, then more again.
  await log.write(AT, "ü".repeat(1_000).concat("\n").repeat(1_000));
  await log.write(AT, "more");
  await log.write(AT, "and more");
  await log.end(AT, "it failed");
  const size = new TextEncoder().encode(disk.text(PATH) ?? "").length;
  assert.ok(size > 800_000 && size < 1_060_000, `${size} bytes`);
  assert.deepEqual(await log.tail(2), [`${AT} (the log is full)`, `${AT} it failed`]);
});

Deno.test("openOperationLog: a line has a length", async () => {
  const { log } = await open();
  await log.write(AT, "x".repeat(100_000));
  assert.equal((await log.tail(1))[0]?.length, 2_000 + AT.length + 1);
});

Deno.test("openOperationLog: a disk that takes no log fails nothing", async () => {
  const machine = createMachine();
  machine.disk.onCall((operation) => operation === "append" ? "full" : null);
  const journal = await runToy(
    machine,
    toy({
      says: step(async ({ say }) => {
        await say("a line");
        return { kind: "failed", message: "why" };
      }),
    }),
  );
  assert.equal(journal.result?.message, "why");
  assert.deepEqual(journal.result?.log_tail, []);
});

Deno.test("operate: logs go with the results that they belong to", async () => {
  const machine = createMachine();
  for (const id of ["old", "constructor", "kept"]) {
    machine.disk.put(`/var/lib/pbx-agent/ops/${id}.log`, "a line\n");
  }
  const path = "/var/lib/pbx-agent/state.json";
  const state = JSON.parse(machine.disk.text(path) ?? "");
  const kept = { kind: "toy", begun_at: AT, at: AT, steps: [], result: { state: "succeeded" } };
  machine.disk.put(path, JSON.stringify({ ...state, finished: { kept } }));
  await runToy(machine, toy({ says: step(({ say }) => say("x").then(() => ({ kind: "done" }))) }));
  const logs = machine.disk.paths().filter((one) => one.startsWith("/var/lib/pbx-agent/ops/"));
  assert.deepEqual(logs.map((one) => one.slice(23)), ["kept.log", "op-1.log"]);
});
