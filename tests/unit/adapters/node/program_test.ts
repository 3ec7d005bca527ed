import assert from "node:assert/strict";
import { createNodeClock } from "../../../../adapters/node/clock.ts";
import type { Clock } from "../../../../core/ports/clock.ts";
import { programFailed, runProgram } from "../../../../adapters/node/program.ts";

const clock = createNodeClock();

/** Runs shell text; the shell stands for any program here. */
function sh(script: string, more: { timeoutMs?: number; maxOutputBytes?: number } = {}) {
  return runProgram({ path: "/bin/sh", args: ["-c", script], timeoutMs: 20_000, clock, ...more });
}

Deno.test("runProgram: gives both outputs and the exit code", async () => {
  assert.deepEqual(await sh("echo out; echo err >&2; exit 7"), {
    ok: true,
    value: { code: 7, signal: null, stdout: "out\n", stderr: "err\n" },
  });
});

Deno.test("runProgram: names the signal that ended a program", async () => {
  const exit = await sh("kill -SEGV $$");
  assert.ok(exit.ok);
  assert.equal(exit.value.code, null);
  assert.equal(exit.value.signal, "SIGSEGV");
});

Deno.test("runProgram: tells of a signal once this process has heard of its own", async () => {
  const heard = new AbortController();
  const late: Clock = {
    ...clock,
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      if (ms === 1_000) heard.abort();
    },
  };
  const run = { path: "/bin/sh", timeoutMs: 20_000, clock: late };
  await runProgram({ ...run, args: ["-c", "exit 1"] });
  assert.equal(heard.signal.aborted, false);
  await runProgram({ ...run, args: ["-c", "kill -TERM $$"] });
  assert.equal(heard.signal.aborted, true);
});

Deno.test("runProgram: passes arguments as they are", async () => {
  const args = ["-c", 'printf "%s|" "$@"', "sh", "a b", "$HOME", "`id`", "", "*"];
  const exit = await runProgram({ path: "/bin/sh", args, timeoutMs: 20_000, clock });
  assert.equal(exit.ok && exit.value.stdout, "a b|$HOME|`id`||*|");
});

Deno.test("runProgram: a program sees a fixed environment and an empty input", async () => {
  Deno.env.set("PBX_TEST_SECRET", "hidden");
  const exit = await runProgram({
    path: "/usr/bin/env",
    args: [],
    timeoutMs: 20_000,
    env: { EXTRA: "1" },
    clock,
  });
  Deno.env.delete("PBX_TEST_SECRET");
  assert.ok(exit.ok);
  assert.deepEqual(exit.value.stdout.trim().split("\n").sort(), [
    "EXTRA=1",
    "HOME=/root",
    "LANG=C.UTF-8",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
  ]);
  const input = await sh("cat | wc -c; pwd");
  assert.equal(input.ok && input.value.stdout.replaceAll(" ", ""), "0\n/\n");
});

Deno.test("runProgram: keeps the end of a long output and never blocks the program", async () => {
  const script =
    "head -c 3000000 /dev/zero | tr '\\0' x; echo THE END; head -c 500000 /dev/zero >&2";
  const exit = await sh(script, { maxOutputBytes: 1_000 });
  assert.ok(exit.ok);
  assert.equal(exit.value.code, 0);
  assert.equal(exit.value.stdout.length, 1_000);
  assert.ok(exit.value.stdout.endsWith("xxx" + "THE END\n"));
  assert.equal(exit.value.stderr.length, 1_000);
});

Deno.test("runProgram: a program that does not exist is missing", async () => {
  const path = "/usr/local/bin/no-such-program";
  const exit = await runProgram({ path, args: [], timeoutMs: 1_000, clock });
  assert.deepEqual(exit, {
    ok: false,
    error: { code: "missing", program: path, message: `${path} does not exist` },
  });
});

Deno.test("runProgram: a file that is no program is failed", async () => {
  const exit = await runProgram({ path: "/etc/passwd", args: [], timeoutMs: 1_000, clock });
  assert.equal(exit.ok ? "" : exit.error.code, "failed");
});

Deno.test("runProgram: a program over its time is stopped, and says what it printed", async () => {
  const file = await Deno.makeTempFile();
  const script =
    `trap 'echo stopped > ${file}; exit 0' TERM; echo waiting >&2; while :; do sleep 0.02; done`;
  const exit = await sh(script, { timeoutMs: 200 });
  assert.equal(exit.ok ? "" : exit.error.code, "timeout");
  assert.match(exit.ok ? "" : exit.error.message, /did not end within 200 ms.*waiting/);
  assert.equal(await Deno.readTextFile(file), "stopped\n", "SIGTERM must come first");
  await Deno.remove(file);
});

Deno.test("runProgram: a program that ignores SIGTERM is killed", async () => {
  const file = await Deno.makeTempFile();
  const script = `trap '' TERM; echo $$ > ${file}; while :; do sleep 0.1; done`;
  const exit = await sh(script, { timeoutMs: 200 });
  assert.equal(exit.ok ? "" : exit.error.code, "timeout");
  const pid = (await Deno.readTextFile(file)).trim();
  await assert.rejects(Deno.stat(`/proc/${pid}`), Deno.errors.NotFound);
  await Deno.remove(file);
});

Deno.test("runProgram: a grandchild that keeps the outputs open is not waited for", async () => {
  const exit = await sh("sleep 30 & echo $!");
  assert.ok(exit.ok);
  assert.equal(exit.value.code, 0);
  await endGrandchild(exit.value.stdout);
});

Deno.test("runProgram: a grandchild that keeps the outputs open does not stretch the limit", async () => {
  const file = await Deno.makeTempFile();
  const exit = await sh(`sleep 30 & echo $! > ${file}; wait`, { timeoutMs: 200 });
  assert.equal(exit.ok ? "" : exit.error.code, "timeout");
  await endGrandchild(await Deno.readTextFile(file));
  await Deno.remove(file);
});

/** Ends a grandchild that must still run: had it ended, its outputs would have been waited for. */
async function endGrandchild(pid: string): Promise<void> {
  const commandLine = await Deno.readTextFile(`/proc/${pid.trim()}/cmdline`);
  assert.match(commandLine, /sleep/);
  Deno.kill(Number(pid), "SIGKILL");
}

Deno.test("programFailed: names command, exit and the last lines", () => {
  const run = { path: "/usr/bin/systemctl", args: ["start", "k3s.service"] };
  const exit = { code: 5, signal: null, stdout: "", stderr: "1\n2\n3\nUnit not found.\n" };
  assert.deepEqual(programFailed(run, exit), {
    code: "failed",
    program: "/usr/bin/systemctl",
    message: "/usr/bin/systemctl start k3s.service: exit code 5: 2; 3; Unit not found.",
  });
});
