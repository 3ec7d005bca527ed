import assert from "node:assert/strict";
import { missingOf, neededBy } from "../real/needs.ts";

const RUN = new URL("../real/run.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** A suite that says a line, and passes only where the other one has said its own meanwhile. */
function meets(name: string, other: string): string {
  return `Deno.test("meets", async () => {
    console.log("${name} begins");
    await Deno.writeTextFile("${name}.here", "");
    for (let look = 0; ; look++) {
      if (await Deno.stat("${other}.here").catch(() => null) !== null) break;
      if (look === 600) throw new Error("${other} does not come");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    console.log("${name} ends");
  });`;
}

const SUITES: Readonly<Record<string, string>> = {
  "good_test.ts": 'Deno.test("a", () => {}); Deno.test("b", () => {});',
  "first_start_test.ts": 'Deno.test("a", () => {}); Deno.test("b", () => { throw 1; });',
  "left_test.ts": `// waits\n${meets("left", "right")}`,
  "right_test.ts": meets("right", "left"),
  "starved_test.ts": '// needs: a-program-of-no-machine\nDeno.test("a", () => {});',
};

Deno.test("real: each suite's tally, then the sum; a failed test fails the run", async () => {
  const { code, lines } = await run(["good", "first-start"]);
  assert.ok(lines.includes("good: 2 passed, 0 failed"), lines.join("\n"));
  assert.ok(lines.includes("first-start: 1 passed, 1 failed"));
  assert.equal(lines.at(-1), "3 passed, 1 failed");
  assert.equal(code, 1);
});

Deno.test("real: a suite that waits runs beside the others, and each one's words stay together", async () => {
  const { code, lines } = await run(["left", "right"]);
  const said = lines.filter((line) => /^(left|right)/.test(line));
  const left = ["left begins", "left ends", "left: 1 passed, 0 failed"];
  const right = ["right begins", "right ends", "right: 1 passed, 0 failed"];
  const either = [[...left, ...right], [...right, ...left]].map((order) => order.join());
  assert.ok(either.includes(said.join()), lines.join("\n"));
  assert.equal(lines.at(-1), "2 passed, 0 failed");
  assert.equal(code, 0);
});

Deno.test("real: on a person's machine a suite whose part is missing is left out", async () => {
  const { code, lines } = await run(["good", "starved"]);
  assert.match(lines.join("\n"), /starved cannot run: .*a-program-of-no-machine/);
  assert.equal(lines.at(-1), "2 passed, 0 failed, 1 skipped");
  assert.equal(code, 0);
});

Deno.test("real: with CI or PBX_LAB set a missing part is a failure", async () => {
  for (const name of ["CI", "PBX_LAB"]) {
    const { code, lines } = await run(["starved"], { [name]: "/lab" });
    assert.equal(lines.at(-1), "0 passed, 1 failed");
    assert.equal(code, 1);
  }
});

Deno.test("real: an unknown suite is a usage error that names the suites", async () => {
  const { code, lines } = await run(["second-start"]);
  assert.match(lines.join("\n"), /second-start.*first-start, good, left, right, starved/);
  assert.equal(code, 2);
});

Deno.test("neededBy: reads the line of needs, where there is one", () => {
  assert.deepEqual(neededBy('import "x";\n// needs: root k3s\n'), ["root", "k3s"]);
  assert.deepEqual(neededBy('const s = "// needs: root";'), []);
});

Deno.test("missingOf: asks for root, and gives the way to a program of the host", async () => {
  assert.deepEqual(await missingOf(["root"], true), []);
  assert.match((await missingOf(["root"], false)).join(), /as root/);
  assert.match((await missingOf(["typo"], true)).join(), /nothing that a suite can need/);
});

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const cwd = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${cwd}/tests/real`, { recursive: true });
    await Deno.writeTextFile(`${cwd}/deno.json`, '{ "lock": false }');
    for (const [name, source] of Object.entries(SUITES)) {
      await Deno.writeTextFile(`${cwd}/tests/real/${name}`, source);
    }
    const { CI: _ci, PBX_LAB: _lab, ...inherited } = Deno.env.toObject();
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--config", CONFIG, RUN, ...args],
      cwd,
      clearEnv: true,
      env: { ...inherited, ...env },
    }).output();
    const text = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
    return { code, lines: text.trimEnd().split("\n") };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}
