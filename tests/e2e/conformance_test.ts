import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { portalKeysOf } from "../../adapters/portal/answer_key.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { startPortal } from "../../adapters/portal/server.ts";
import keys from "../../fixtures/lab-release-keys.json" with { type: "json" };
import type { Conformance } from "../../simulate/conformance/run.ts";

const REPOSITORY = new URL("../../", import.meta.url).pathname;

Deno.test("simulate conformance: the fake portal keeps every rule, over a real connection with a path of its own", async () => {
  const folder = await Deno.makeTempDir();
  const running = await startPortal({
    port: 0,
    stateDir: folder,
    base: "/some/path/v1",
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write() {} },
    releaseKeys: parseReleaseKeys(JSON.stringify(keys)),
  });
  try {
    const junit = `${folder}/junit.xml`;
    const ended = await simulate([
      ...["conformance", "--portal", running.url, "--admin", running.adminUrl],
      ...["--portal-key", portalKeysOf(running.portal.answerKey).join()],
      ...["--json", "--junit", junit],
    ]);
    assert.equal(ended.code, 0, ended.stderr);
    const report: Conformance = JSON.parse(ended.stdout);
    const others = report.rules.filter(({ verdict }) => verdict !== "pass").map(({ id }) => id);
    assert.deepEqual(others, ["replay.memory"], "all but what takes minutes");
    const xml = await Deno.readTextFile(junit);
    assert.equal(xml.match(/<testcase /g)?.length, report.rules.length);

    running.portal.memory.faults.push({
      match: { path: "/enroll" },
      skip: 0,
      count: 1,
      action: { status: 200, body: {} },
    });
    const second = await simulate(["conformance", "--portal", running.url]);
    assert.equal(second.code, 1);
    assert.match(
      second.stdout,
      /FAIL {2}§3 {2}enroll\.unknown_token .*\n +sent: POST \/enroll, .*\n/,
    );
    assert.match(second.stdout, /, 1 do not, /);
  } finally {
    await running.close();
    await Deno.remove(folder, { recursive: true });
  }
});

async function simulate(args: readonly string[]) {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", "--no-check", "--no-prompt", "-A", "cli/simulate.ts", ...args],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
}
