import assert from "node:assert/strict";

const ROOT = new URL("../../../", import.meta.url);
const page = Deno.readTextFileSync(new URL("SECURITY.md", ROOT));

/** The names of a file's tests; what a template fills in stands as `...`. */
function testsOf(source: string): readonly string[] {
  const names = source.matchAll(
    /(?:\b(?:test|chapter|ownerTest)\(\s*|\bname:\s*)(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g,
  );
  return [...names].map(([, plain, template]) =>
    plain ?? (template ?? "").replace(/\$\{[^}]*\}/g, "...")
  );
}

/** The rows of the table of attacks, as their cells. */
const rows = page.split("\n")
  .filter((line) => /^\| .*`tests\//.test(line))
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "").trim()));

Deno.test("SECURITY.md: every attack has its asset, attacker, defence and a test", () => {
  assert.ok(rows.length >= 20, String(rows.length));
  for (const cells of rows) {
    assert.equal(cells.length, 5, cells.join());
    assert.ok(cells.every((cell) => cell !== ""), cells.join());
  }
});

Deno.test("SECURITY.md: every test that it names exists", () => {
  const missing: string[] = [];
  for (const cells of rows) {
    const named = [...(cells.at(-1) ?? "").matchAll(/`(tests\/[\w/]+_test\.ts)` "([^"]+)"/g)];
    if (named.length === 0) missing.push(`no test: ${cells.join()}`);
    for (const [, path = "", name = ""] of named) {
      let source = "";
      try {
        source = Deno.readTextFileSync(new URL(path, ROOT));
      } catch {
        // Told below.
      }
      if (!testsOf(source).includes(name)) missing.push(`${path} has no test "${name}"`);
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("SECURITY.md: every test file that it names is named with a test", () => {
  const files = page.match(/`tests\/[\w/]+\.ts`(?! ")/g);
  assert.equal(files, null);
});

Deno.test("testsOf: finds names of every form, and takes no comment or text for one", () => {
  const source = 'Deno.test("a", f);\nDeno.test(`b ${x}: c`, f);\nDeno.test({\n  name: "d",\n});' +
    '\n  test("e", f);\nsay("f");';
  assert.deepEqual(testsOf(source), ["a", "b ...: c", "d", "e"]);
});
