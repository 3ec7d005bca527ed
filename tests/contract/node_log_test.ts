import assert from "node:assert/strict";
import type { LogLevel } from "../../core/ports/log.ts";
import { Secret } from "../../core/secret.ts";
import { createFakeLog } from "../../adapters/fake/log.ts";
import { createNodeLog } from "../../adapters/node/log.ts";
import { LOG_TIME } from "./log_contract.ts";

const TRICKY = "a\nb\tc\u001b[31m\u009b\u2028\u202e\u{e0001}end";

function capture(json: boolean, level?: LogLevel) {
  const written: string[] = [];
  const options = { stream: "stderr", json, now: () => LOG_TIME } as const;
  const log = createNodeLog({
    ...options,
    ...(level === undefined ? {} : { level }),
    write: (line) => written.push(line),
  });
  return { log, written };
}

Deno.test("createNodeLog: writes a readable line at a terminal", () => {
  const { log, written } = capture(false);
  log.write("warn", "sync_refused", "the portal said no", {
    status: 400,
    path: "/v1/sync",
    why: "not now",
    list: [1],
    none: undefined,
    level: "x",
  });
  log.write("error", "three", "third");
  assert.deepEqual(written, [
    "12:03:04 warn  sync_refused  the portal said no  " +
    `status=400 path=/v1/sync why="not now" list=[1] field_level=x\n`,
    "12:03:04 error three  third\n",
  ]);
});

Deno.test("createNodeLog: lets no text forge a line or steer a terminal", () => {
  for (const json of [true, false]) {
    const { log, written } = capture(json);
    log.write("info", TRICKY, TRICKY, { [TRICKY]: TRICKY, deep: [TRICKY] });
    const line = written[0] ?? "";
    assert.equal(written.length, 1);
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    if (json) assert.equal(JSON.parse(line).message, TRICKY);
    else {assert.ok(
        line.includes(String.raw`  a\nb\tc\u001b[31m\u009b\u2028\u202e\udb40\udc01end  `),
      );}
  }
});

Deno.test("createNodeLog: shows no secret in a readable line", () => {
  const { log, written } = capture(false);
  const token = new Secret("hunter2");
  log.write("info", "event", `with ${token}`, { token } as unknown as Record<string, string>);
  assert.deepEqual(written, ["12:03:04 info  event  with [secret]  token=[secret]\n"]);
});

Deno.test("createNodeLog: writes only what matters enough", () => {
  const { log, written } = capture(true, "warn");
  for (const level of ["info", "warn", "error"] as const) log.write(level, level, "");
  assert.deepEqual(written.map((line) => JSON.parse(line).level), ["warn", "error"]);
});

Deno.test("createNodeLog: does not throw where a line cannot be written", () => {
  let tried = 0;
  const log = createNodeLog({
    stream: "stderr",
    json: true,
    now: () => LOG_TIME,
    write: () => {
      tried += 1;
      throw new Error("EPIPE");
    },
  });
  log.write("error", "event", "message");
  assert.equal(tried, 1);
});

Deno.test("createNodeLog: writes to its stream, and survives a full disk and a closed pipe", async () => {
  const module = import.meta.resolve("../../adapters/node/log.ts");
  const folder = await Deno.makeTempDir();
  const program = `${folder}/program.ts`;
  await Deno.writeTextFile(
    program,
    `import { createNodeLog } from "${module}";
     const log = createNodeLog({ stream: Deno.args[0], json: true, now: () => 0 });
     const long = "é".repeat(4_000);
     for (let turn = 0; turn < 100; turn += 1) log.write("info", "event", long, { turn });
     await Deno.writeTextFile("${folder}/end", "alive");`,
  );
  async function shell(redirected: string): Promise<string> {
    const script = `"$0" run -A --no-lock "$1" ${redirected}`;
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", script, Deno.execPath(), program],
    })
      .output();
    assert.equal(await Deno.readTextFile(`${folder}/end`), "alive", redirected);
    await Deno.remove(`${folder}/end`);
    return new TextDecoder().decode(stdout);
  }
  try {
    const lines = (await shell("stderr 2>&1 >/dev/null")).trimEnd().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line).turn), [...Array(100).keys()]);
    await shell("stdout >/dev/full");
    await shell("stdout | true");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("createFakeLog: finds lines by event, prints them, and keeps as many as told", () => {
  const printed: string[] = [];
  const log = createFakeLog({ keep: 2, print: (line) => printed.push(line) });
  for (const event of ["a", "b", "a", "b"]) log.write("info", event, "message", { x: 1 });
  assert.equal(printed.length, 4);
  assert.equal(printed[0], "00:00:00 info  a  message  x=1");
  assert.deepEqual(log.records().map(({ event }) => event), ["a", "b"]);
  assert.equal(log.of("a").length, 1);
  assert.equal(log.text(), printed.slice(2).map((line) => line + "\n").join(""));
  log.forget();
  assert.deepEqual(log.records(), []);
});
