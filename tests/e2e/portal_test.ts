import assert from "node:assert/strict";

const REPOSITORY = new URL("../../", import.meta.url).pathname;

/** Runs the portal's own command with these arguments. */
function spawn(args: readonly string[], stdin: "null" | "piped" = "null"): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", "--no-check", "--no-prompt", "-A", "cli/portal.ts", ...args],
    cwd: REPOSITORY,
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("portal: says one line on stdout, serves, and ends well on both signals", async () => {
  const stateDir = await Deno.makeTempDir();
  try {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const child = spawn(["--state", stateDir, "--base", "/x/agent/v1"]);
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const { value: line } = await reader.read();
      const words = JSON.parse(line ?? "");
      assert.ok(line?.endsWith("}\n"));
      assert.match(words.url, /^http:\/\/127\.0\.0\.1:[0-9]+\/x\/agent\/v1$/);
      const state = await (await fetch(`${words.admin}/admin/state`)).json();
      assert.ok(words.cluster in state.clusters);
      const refused = await fetch(`${words.url}/sync`, { method: "POST" });
      assert.equal(refused.status, 400);
      await refused.body?.cancel();

      child.kill(signal);
      const [{ code }, rest, log] = await Promise.all([
        child.status,
        reader.read(),
        new Response(child.stderr).text(),
      ]);
      assert.deepEqual([code, rest.done], [0, true]);
      for (const entry of log.trimEnd().split("\n")) assert.equal(JSON.parse(entry).level, "info");
      assert.ok(!log.includes(words.token));
    }
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("portal: --end-with-input ends it once nobody holds its standard input any more", async () => {
  const child = spawn(["--memory", "--end-with-input"], "piped");
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { admin } = JSON.parse((await reader.read()).value ?? "");
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode("what is written there means nothing\n"));
  await (await fetch(`${admin}/admin/state`)).body?.cancel();
  await input.close();
  const [{ code }] = await Promise.all([child.status, reader.cancel(), child.stderr.cancel()]);
  assert.equal(code, 0);
});

/** Each: arguments, the exit code, which stream has the words, the words. */
const CALLS: readonly [string[], number, "stdout" | "stderr", RegExp][] = [
  [["--help"], 0, "stdout", /^usage: portal/],
  [["--colour"], 2, "stderr", /--colour[^]*usage: portal/],
  [["extra"], 2, "stderr", /extra[^]*usage: portal/],
  [["--port", "70000"], 2, "stderr", /--port 70000: must be a number from 0 to 65535/],
  [["--state", "/dev/null/x"], 1, "stderr", /the portal does not start/],
];

for (const [args, code, stream, words] of CALLS) {
  Deno.test(`portal: ${args.join(" ")} ends with ${code}`, async () => {
    const output = await spawn(args).output();
    const decoder = new TextDecoder();
    const other = stream === "stdout" ? "stderr" : "stdout";
    assert.equal(output.code, code);
    assert.match(decoder.decode(output[stream]), words);
    assert.equal(decoder.decode(output[other]), "");
  });
}
