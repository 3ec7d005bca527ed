import assert from "node:assert/strict";

const RUN = new URL("../run.ts", import.meta.url).pathname;

/** A project of one function and one test of each kind. */
const GOOD: Readonly<Record<string, string>> = {
  "deno.json": '{ "lock": false }',
  "core/sign.ts":
    "export function sign(n: number): string {\n  return n < 0 ? 'minus' : 'plus';\n}\n",
  "adapters/none.ts": "export {};",
  "simulate/none.ts": "export {};",
  "cli/none.ts": "export {};",
  "tests/unit/sign_test.ts": `import { sign } from "../../core/sign.ts";
    Deno.test("sign", () => {
      if (sign(-1) !== "minus" || sign(1) !== "plus") throw new Error("wrong sign");
    });`,
  "tests/contract/one_test.ts": 'Deno.test("one", () => {});',
  "tests/abuse/one_test.ts": 'Deno.test("one", () => {});',
  "tests/e2e/one_test.ts": 'Deno.test("one", () => {});',
  "tests/architecture/one_test.ts": 'Deno.test("one", () => {});',
  "tests/runner/one_test.ts": 'Deno.test("one", () => {});',
};

Deno.test("run: a good project passes, and the last line says so", async () => {
  const { code, lines } = await run(GOOD);
  assert.equal(lines.at(-1), "9 passed, 0 failed", lines.join("\n"));
  assert.ok(lines.includes("core coverage, lines: 100.0 % (at least 95 %)"));
  assert.equal(code, 0);
});

/** One fault in every kind, and too little covered. */
const BAD: Readonly<Record<string, string>> = {
  "core/sign.ts": `${GOOD["core/sign.ts"]}export function idle() {\n  return 1;\n}\n`,
  "cli/none.ts": 'export const n: number = "text";',
  "tests/unit/sign_test.ts":
    'import { sign } from "../../core/sign.ts"; Deno.test("sign", () => void sign(1));',
  "tests/contract/one_test.ts": 'Deno.test("open", () => void Deno.openSync("deno.json"));',
  "tests/abuse/one_test.ts":
    'Deno.test("late", () => void setTimeout(() => { throw new Error("late"); }));',
  "tests/e2e/one_test.ts": 'Deno.test("one", () => { throw new Error("wrong"); });',
  "tests/runner/bad_test.ts": 'throw new Error("does not load");',
};

Deno.test("run: every kind of fault is counted where it is, and fails the run", async () => {
  const { code, lines } = await run({ ...GOOD, ...BAD });
  const rows = Object.fromEntries(
    lines.map((line) => /^(.*?) {2,}(\d+ passed, \d+ failed)/.exec(line)?.slice(1) ?? ["", ""]),
  );
  const { "": _other, ...counted } = rows;
  assert.deepEqual(counted, {
    types: "0 passed, 1 failed",
    unit: "1 passed, 0 failed",
    contract: "0 passed, 1 failed",
    abuse: "1 passed, 1 failed",
    e2e: "0 passed, 1 failed",
    architecture: "2 passed, 1 failed",
    "coverage, lines": "0 passed, 1 failed",
    "coverage, branches": "0 passed, 1 failed",
  }, lines.join("\n"));
  assert.equal(lines.at(-1), "4 passed, 7 failed");
  assert.equal(code, 1);
});

Deno.test("run: kinds can be named; coverage is then shown, but has no limit", async () => {
  const change = { "tests/unit/sign_test.ts": 'Deno.test("sign", () => {});' };
  const { code, lines } = await run({ ...GOOD, ...change }, ["e2e"]);
  assert.equal(lines.at(-1), "2 passed, 0 failed", lines.join("\n"));
  assert.equal(code, 0);
});

Deno.test("run: an unknown kind is a usage error that names the kinds", async () => {
  const { code, lines } = await run({ "deno.json": "{}" }, ["units"]);
  assert.match(lines.join("\n"), /units.*unit,contract,abuse,e2e,architecture/);
  assert.equal(code, 2);
});

async function run(files: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const cwd = await Deno.makeTempDir();
  try {
    for (const [path, source] of Object.entries(files)) {
      if (path.includes("/")) {
        await Deno.mkdir(`${cwd}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
      }
      await Deno.writeTextFile(`${cwd}/${path}`, source);
    }
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-lock", "--no-check", RUN, ...args],
      cwd,
    }).output();
    const text = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
    return { code, lines: text.trimEnd().split("\n") };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}
