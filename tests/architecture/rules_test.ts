/// <reference lib="deno.unstable" />
import assert from "node:assert/strict";
import plugin from "./plugin.ts";

const found = (path: string, source: string) =>
  Deno.lint.runPlugin(plugin, path, source).map(({ id, message }) => `${id}: ${message}`);

/** A planted violation and the thing that its message has to name. */
const REFUSED_IN_CORE: readonly (readonly [source: string, named: string])[] = [
  ["Deno.exit(1);", "Deno"],
  ["const { env } = Deno;", "Deno"],
  ['await fetch("x");', "fetch"],
  ["const send = fetch;", "fetch"],
  ["const port = { fetch };", "fetch"],
  ["const f = () => fetch;", "fetch"],
  ["(fetch as unknown);", "fetch"],
  ["fetch!;", "fetch"],
  ['globalThis.fetch("x");', "globalThis"],
  ["const fetch = 1;", "a local fetch"],
  ["function f(console: string) { return 1; }", "a local console"],
  ["const now = Date.now();", "Date.now"],
  ["const { now } = Date;", "Date as a value"],
  ['const now = Date["now"]();', "Date as a value"],
  ["const Time = Date;", "Date as a value"],
  ["const today = new Date();", "new Date()"],
  ["const today = Date();", "Date as a value"],
  ["const dice = Math.random();", "Math.random"],
  ["const { random } = Math;", "Math as a value"],
  ["setTimeout(() => 1, 1);", "setTimeout"],
  ["setInterval(() => 1, 1);", "setInterval"],
  ["queueMicrotask(() => 1);", "queueMicrotask"],
  ["const signal = AbortSignal.timeout(1);", "AbortSignal.timeout"],
  ["const bytes = crypto.getRandomValues(new Uint8Array(1));", "crypto"],
  ["const started = performance.now();", "performance"],
  ['console.log("x");', "console"],
  ["const pid = process.pid;", "process"],
  ["const cores = navigator.hardwareConcurrency;", "navigator"],
  ["localStorage.clear();", "localStorage"],
  ['const socket = new WebSocket("ws://x");', "WebSocket"],
  ["const here = import.meta.url;", "import.meta"],
  ['const part = await import("./part.ts");', "import()"],
  ["const part = await import(`./part${1}.ts`);", "import()"],
  ["const list = [1, , fetch];", "a hole"],
  ["const [, fetch] = [1, 2];", "a local fetch"],
  ["window.stop();", "window"],
  ["const unknown = someGlobalOfTomorrow();", "someGlobalOfTomorrow"],
  ['const code = new Function("return 1");', "Function"],
];

for (const [source, named] of REFUSED_IN_CORE) {
  Deno.test(`no-ambient: refuses ${source}`, () => {
    const [first, ...more] = found("core/probe.ts", source);
    assert.deepEqual(more, []);
    assert.ok(first?.startsWith("pbx/no-ambient") && first.includes(named), first);
  });
}

const ALLOWED_IN_CORE: readonly string[] = [
  "const then = new Date(0); const is = (x: unknown) => x instanceof Date;",
  "const day = Date.UTC(2026, 0, 1); const top = Math.max(1, 2);",
  "const text = { fetch: 1, console: 2 }; const x = text.fetch; text.console;",
  "interface Http { fetch(process: string): void; readonly crypto: number }",
  "type F = typeof fetch; type P = (console: string) => void;",
  'const s = "fetch(Date.now())"; // setTimeout(f)',
  "const { fetch: send } = { fetch: 1 }; send;",
  "const [, key, { a }] = [1, 2, { a: ',,' }]; key; a;",
  "label: for (const a of [1]) { if (a) break label; else continue label; }",
  "class Box<T> { #v: T; constructor(v: T) { this.#v = v; } process() { return this.#v; } }",
  'import { z } from "zod"; import type { A } from "./a.ts"; export { z as fetch }; z as A;',
  "function outer({ a, b: [c, ...d], e = 1 }: X) { try { return [a, c, d, e]; } catch (x) { x; } }",
];

for (const source of ALLOWED_IN_CORE) {
  Deno.test(`no-ambient: accepts ${source}`, () => {
    assert.deepEqual(found("core/probe.ts", source).filter((it) => it.includes("no-ambient")), []);
  });
}

Deno.test("no-ambient: leaves adapters, command line and tests alone", () => {
  for (const path of ["adapters/node/clock.ts", "cli/main.ts", "tests/unit/x_test.ts"]) {
    assert.deepEqual(found(path, "Date.now(); fetch(Deno.args[0]);"), []);
  }
});

Deno.test("no-locale: refuses the machine's time zone and language in core only", () => {
  for (const call of ["d.getHours()", "d.getTimezoneOffset()", "a.localeCompare(b)"]) {
    const source = `const f = (d: Date, a: string, b: string) => ${call};`;
    assert.equal(found("core/probe.ts", source).length, 1);
    assert.equal(found("cli/probe.ts", source).length, 0);
  }
  assert.deepEqual(found("core/probe.ts", "const f = (d: Date) => d.getUTCHours();"), []);
});

const RANDOM_IN_CORE: readonly string[] = [
  'import { randomBytes } from "@noble/hashes/utils.js";',
  'import { randomBytes as dice } from "@noble/hashes/utils.js";',
  'import nacl from "tweetnacl"; nacl.randomBytes(3);',
  'import nacl from "tweetnacl"; nacl.box.keyPair();',
  'import sealedBox from "tweetnacl-sealedbox-js"; sealedBox.seal(a, b);',
  'import { ed25519 } from "@noble/curves/ed25519.js"; ed25519.utils.randomSecretKey();',
  'import { x25519 } from "@noble/curves/ed25519.js"; x25519.keygen();',
];

Deno.test("no-random: refuses a library's own randomness in core only", () => {
  const of = (path: string, source: string) =>
    found(path, source).filter((each) => each.startsWith("pbx/no-random"));
  for (const source of RANDOM_IN_CORE) {
    assert.equal(of("core/probe.ts", source).length, 1, source);
    assert.equal(of("adapters/node/probe.ts", source).length, 0, source);
  }
  const seeded = "const pair = nacl.box.keyPair.fromSecretKey(secret); const box = port.seal(1);";
  assert.deepEqual(of("core/probe.ts", seeded), []);
});

const LOCAL_DATES: readonly string[] = [
  "const text = String(new Date(0));",
  "const text = `${new Date(0)}`;",
  'const text = new Date(0) + "";',
  "const text = new Date(0).toString();",
  "const at = new Date(0); const text = `at ${at}`;",
  "const f = () => at.toString(); const at = new Date(0);",
  "const at = new Date(2026, 0, 1);",
  'const format = new Intl.DateTimeFormat("en");',
];

Deno.test("no-local-date: refuses dates as text in the machine's time zone, in core only", () => {
  const of = (path: string, source: string) =>
    found(path, source).filter((each) => each.startsWith("pbx/no-local-date"));
  for (const source of LOCAL_DATES) {
    assert.equal(of("core/probe.ts", source).length, 1, source);
    assert.equal(of("cli/probe.ts", source).length, 0, source);
  }
  const good =
    "const at = new Date(0); const text = `at ${at.toISOString()}`; const n = at.getTime() + 1;" +
    'const format = new Intl.DateTimeFormat("en", { timeZone: "UTC" });';
  assert.deepEqual(of("core/probe.ts", good), []);
});

Deno.test("no-module-state: refuses state outside functions, everywhere", () => {
  const state = ["let x = 1;", "export let x = 1;", "var x = 1;", "const seen = new Map();"];
  for (const source of [...state, "const all: string[] = [];"]) {
    for (const path of ["core/probe.ts", "tests/unit/probe_test.ts"]) {
      const only = found(path, source).filter((each) => each.startsWith("pbx/no-module-state"));
      assert.equal(only.length, 1, `${path}: ${source}`);
    }
  }
});

Deno.test("no-module-state: accepts constants and state inside functions", () => {
  const source = "const names = new Set(['a']); function f() { let n = 0; const m = new Map(); }";
  assert.deepEqual(found("core/probe.ts", source), []);
  const keys = "const keys: readonly string[] = []; const m: ReadonlyMap<string, 1> = new Map();";
  assert.deepEqual(found("cli/probe.ts", keys), []);
});

Deno.test("exported-doc: refuses an export without a doc comment in the product", () => {
  const sources = [
    "export const a = 1;",
    "// a line\nexport function f() {}",
    "/** Far away. */\nconst b = 1;\nexport interface I {}",
    "/** The first. */\nexport const a = 1;\nexport type B = 1;",
    "export default class {}",
  ];
  for (const source of sources) {
    assert.equal(found("core/probe.ts", source).length, 1, source);
    assert.equal(found("tests/probe.ts", source).length, 0, source);
  }
  for (const source of ["export const A = 1;", "export function A() {}"]) {
    assert.equal(found("core/probe.ts", `${source}\nexport type A = 1;`).length, 2, source);
  }
});

Deno.test("exported-doc: accepts a doc comment, also behind letters outside ASCII", () => {
  const source = "/** Größe: „ä“ 🙂. */\nexport const a = 1;\n/** Ä. */\nexport type B = 1;";
  assert.deepEqual(found("core/probe.ts", source), []);
  const twins = "/** A document. */\nexport const A = z();\nexport type A = typeof A;";
  assert.deepEqual(found("adapters/probe.ts", twins), []);
  const run = "/** The files. */\nexport const a = 1;\nexport const b = 2;\nexport const c = 3;";
  assert.deepEqual(found("adapters/probe.ts", run), []);
  assert.equal(found("adapters/probe.ts", `${run}\n\nexport const d = 4;`).length, 1);
  assert.deepEqual(found("core/mod.ts", 'export * from "./a.ts"; export { b } from "./b.ts";'), []);
});
