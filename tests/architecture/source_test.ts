/// <reference lib="deno.unstable" />
import assert from "node:assert/strict";
import { KINDS } from "../runner/kinds.ts";
import plugin from "./plugin.ts";
import { filesBelow, REPOSITORY, sourceFiles } from "./source_files.ts";
import { badShape, foreignText } from "./text_rules.ts";

const read = (path: string) => Deno.readTextFile(`${REPOSITORY}${path}`);
// Documents and code; not what tools write.
const isText = (path: string) =>
  /(\.(ts|md|json|yaml|yml|txt|service)|^\.ci\/.+|^[A-Z]+)$/.test(path) && path !== "deno.lock";

Deno.test("source: keeps the repository's own lint rules", async () => {
  const found: string[] = [];
  for (const path of await sourceFiles(REPOSITORY)) {
    const source = await read(path);
    for (const { id, message, range } of Deno.lint.runPlugin(plugin, path, source)) {
      found.push(`${path}:${source.slice(0, range[0]).split("\n").length} ${id}: ${message}`);
    }
  }
  assert.deepEqual(found, []);
});

Deno.test("source: files are short, names are snake_case and say something", async () => {
  const files = await sourceFiles(REPOSITORY);
  const found = await Promise.all(files.map(async (path) => badShape(path, await read(path))));
  assert.deepEqual(found.flat(), []);
});

Deno.test("source: every test file is in a folder that some task runs", async () => {
  const folders = [...Object.values(KINDS).flatMap(({ paths }) => [...paths]), "tests/real"];
  const files = (await sourceFiles(REPOSITORY)).filter((file) => /(_|\.|\/)test\.ts$/.test(file));
  const lost = files.filter((file) => !folders.some((folder) => file.startsWith(`${folder}/`)));
  assert.deepEqual(lost, []);
  const real = files.filter((file) => file.startsWith("tests/real/"));
  assert.deepEqual(real.filter((file) => file.split("/").length > 3), [], "not found by test:real");
});

Deno.test("source: no file names a path of one machine or a registry's host", async () => {
  const files = (await filesBelow(REPOSITORY)).filter(isText);
  assert.ok(files.includes("README.md") || files.includes("ARCHITECTURE.md"));
  const found = await Promise.all(files.map(async (path) => foreignText(path, await read(path))));
  assert.deepEqual(found.flat(), []);
});

Deno.test("source: every dependency is used and ARCHITECTURE.md gives its reason", async () => {
  const { imports } = JSON.parse(await read("deno.json")) as { imports: Record<string, string> };
  const architecture = await read("ARCHITECTURE.md");
  const reasons = architecture.split("\n").filter((line) => line.startsWith("| "));
  const files = await sourceFiles(REPOSITORY);
  const code = (await Promise.all(files.map(read))).join("\n");
  for (const [name, target] of Object.entries(imports)) {
    assert.match(target, /^npm:(@[\w-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/, `${name} is not pinned`);
    assert.ok(code.includes(`"${name}`), `${name} is in deno.json, but nothing imports it`);
    const reason = reasons.some((line) => line.includes(`\`${name}\``));
    assert.ok(reason, `ARCHITECTURE.md has no table line with the reason for \`${name}\``);
  }
});

Deno.test("badShape: refuses long files, other names and drawers", () => {
  const longest = "x\n".repeat(400);
  assert.deepEqual(badShape("core/state/state_file.ts", longest), []);
  assert.equal(badShape("core/state/state_file.ts", `${longest}x\n`).length, 1);
  assert.equal(badShape("core/state/state_file.ts", `${longest}x`).length, 1);
  assert.equal(badShape("core/state/stateFile.ts", "").length, 1);
  assert.equal(badShape("core/state/state-file.ts", "").length, 1);
  assert.equal(badShape("core/State/file.ts", "").length, 1);
  assert.equal(badShape("core/utils/file.ts", "").length, 1);
});

Deno.test("foreignText: refuses machine paths and registry hosts, and nothing else", () => {
  const work = "/" + "work/main";
  const home = "/" + "home/me";
  for (const text of [`cd ${work}`, `path = "${home}"`, `(${home})`, `${work}/x`]) {
    assert.equal(foreignText("a.md", `fine\n${text}`).length, 1, text);
  }
  const registry = ["registry", "npmjs", "org"].join(".");
  assert.deepEqual(foreignText("a.md", `https://${registry}/zod`), [
    `a.md:1 names the registry host ${registry}`,
  ]);
  for (const text of ["/etc/pbx-agent/config.yaml", "tests/work/x", "https://portal.example"]) {
    assert.deepEqual(foreignText("a.md", text), [], text);
  }
});
