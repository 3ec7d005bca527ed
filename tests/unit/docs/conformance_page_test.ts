import assert from "node:assert/strict";
import { RULES } from "../../../simulate/conformance/rules.ts";

const PAGE = new URL("../../../docs/conformance.md", import.meta.url);

Deno.test("docs/conformance.md: has every rule of the kit, and no other", async () => {
  const rows = (await Deno.readTextFile(PAGE)).split("\n")
    .filter((line) => /^\| `[a-z_]+(\.[a-z0-9_]+)?` +\| §/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()).join(" "));
  const rules = Object.entries(RULES).map(([id, { paragraph, title }]) =>
    `\`${id}\` ${paragraph} ${title.replace("__proto__", "`__proto__`")}`
  );
  assert.deepEqual(rows, rules);
});
