import assert from "node:assert/strict";
import { renderAddon } from "../../../../core/cluster/render.ts";
import { renderAll } from "../../../../core/cluster/render_all.ts";
import {
  createBudget,
  spendSearch,
  TooMuchWork,
} from "../../../../core/cluster/template/budget.ts";
import { renderTemplate } from "../../../../core/cluster/template/render_template.ts";
import type { JsonValue } from "../../../../core/json.ts";
import type { Release } from "../../../../core/protocol/release.ts";
import { addon, chart, CLUSTER, SECRETS, template } from "../addon_world.ts";

const WORLD = { clusterId: CLUSTER, nodeName: "demo-1", releasedAt: "2026-01-01T00:00:00Z" };
const E = (expression: string) => ({ $eval: expression });
const RANGE = E("range(0, 1000)");

function loops(depth: number, body: JsonValue): JsonValue {
  return depth === 0 ? body : { $map: RANGE, [`each(x${depth})`]: loops(depth - 1, body) };
}

function lets(
  names: readonly string[],
  make: (name: string) => JsonValue,
  last: JsonValue,
): JsonValue {
  const [name, ...more] = names;
  if (name === undefined) return last;
  return { $let: { [name]: make(name) }, in: lets(more, make, last) };
}

const TWENTY = Array.from({ length: 20 }, (_, index) => `a${index}`);
const text = (length: number) => "ab".repeat(length / 2);

/** Templates that would take seconds to ages, or more memory than there is. */
const GREEDY: Readonly<Record<string, JsonValue>> = {
  "two loops inside each other": loops(2, E("x1 * x2")),
  "six loops inside each other": loops(6, 1),
  "a loop in a list of loops": Array(500).fill(loops(1, [1, 2, 3])),
  "a text that doubles": { $reduce: RANGE, initial: "ab", "each(a,x)": E("a + a") },
  "a list that doubles": {
    $reduce: RANGE,
    initial: [1],
    "each(a,x)": { $flatten: [E("a"), E("a")] },
  },
  "a list that holds itself twice, as text": {
    $json: { $reduce: E("range(0, 60)"), initial: 1, "each(a,x)": E("[a, a]") },
  },
  "a list that holds itself twice, as the result": {
    $reduce: E("range(0, 60)"),
    initial: 1,
    "each(a,x)": E("[a, a]"),
  },
  "a list that holds itself twice, joined": {
    $let: { a: { $reduce: E("range(0, 60)"), initial: 1, "each(a,x)": E("[a, a]") } },
    in: E("join(a, '')"),
  },
  "lists that hold themselves, compared": {
    $let: {
      a: { $reduce: E("range(0, 60)"), initial: 1, "each(a,x)": E("[a, a]") },
      b: { $reduce: E("range(0, 60)"), initial: 1, "each(a,x)": E("[a, a]") },
    },
    in: E("a == b"),
  },
  "an object that holds itself twice": {
    $reduce: E("range(0, 60)"),
    initial: { x: 1 },
    "each(a,x)": { l: E("a"), r: E("a") },
  },
  "an object that is merged with itself": {
    $reduce: RANGE,
    initial: { x: [1] },
    "each(a,x)": { $mergeDeep: [E("a"), E("a")] },
  },
  "texts of texts of texts": lets(
    ["a", "b", "c", "d"],
    (name) =>
      name === "a"
        ? text(1_000)
        : { $json: Array(300).fill(E(String.fromCharCode(name.charCodeAt(0) - 1))) },
    E("len(d)"),
  ),
  "a text that is looked through for a long one": {
    $let: { a: text(200_000), b: "b" + text(100_000) },
    in: { $map: RANGE, "each(x)": E("b in a") },
  },
  "a long text that is taken apart": {
    $let: { a: text(200_000) },
    in: { $map: RANGE, "each(x)": E("len(split(a, 'a'))") },
  },
  "a long text that is trimmed": {
    $let: { a: `a${" ".repeat(200_000)}a` },
    in: { $map: RANGE, "each(x)": E("rstrip(a)") },
  },
  "a long text that is read again and again": { $map: RANGE, "each(x)": `${text(50_000)}\${x}` },
  "a long expression that is read again and again": {
    $map: RANGE,
    "each(x)": E(`len([${Array(10_000).fill("1").join(",")}])`),
  },
  "a long list that is sorted again and again": {
    $map: RANGE,
    "each(y)": { $sort: RANGE, "by(x)": "-x" },
  },
  "a list that is searched in a loop": {
    $map: RANGE,
    "each(x)": { $find: RANGE, "each(y)": "y > 998" },
  },
  "slices in a loop": { $let: { a: RANGE }, in: { $map: RANGE, "each(x)": E("a[1:]") } },
  "names inside of names": lets(TWENTY, () => loops(1, loops(1, 1)), 1),
};

for (const [what, greedy] of Object.entries(GREEDY)) {
  Deno.test(`renderAddon: ${what} take too much work, and that is said early`, () => {
    const parts = { objects: [chart("web", { values: greedy })] };
    const begun = performance.now();
    const rendered = renderAddon(addon("one"), template("one", parts), WORLD, SECRETS);
    const tookMs = performance.now() - begun;
    assert.ok(!rendered.ok);
    assert.match(rendered.error, /too much work: more than 100000 steps|a text of more than/);
    // Milliseconds on any machine; without the bound, seconds to the end of all memory.
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
  });
}

Deno.test("renderAddon: a chart as large as any takes a small part of what it may", () => {
  const values = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`key${index}`, {
      name: "${cluster.name}-" + index,
      hosts: { $map: E("range(0, 3)"), "each(x)": "${node.name}-${x}.${cluster.name}" },
    }]),
  );
  const parts = { objects: [chart("web", { values })] };
  assert.ok(renderAddon(addon("one"), template("one", parts), WORLD, SECRETS).ok);
});

Deno.test("renderAll: the add-ons of a release share what all may take, and the first ones are not harmed", () => {
  const parts = {
    objects: [chart("web", { values: { $map: RANGE, "each(x)": loops(0, "${x}") } })],
  };
  const greedy = { objects: [chart("web", { values: loops(2, 1) })] };
  const names = Array.from({ length: 200 }, (_, index) => `addon-${index}`);
  const addons = Object.fromEntries(
    names.map((name, index) => [name, template(name, index === 0 ? parts : greedy)]),
  );
  const release = { created_at: "2026-01-01T00:00:00Z", addons } as unknown as Release;
  const place = { clusterId: CLUSTER, nodeName: "demo-1" };
  const rendered = renderAll(names.map((name) => addon(name)), release, place, []);
  const said = names.map((name) => {
    const one = rendered.get(name);
    return one?.ok === true ? "ok" : one?.error ?? "";
  });
  assert.equal(said[0], "ok");
  assert.match(said[1] ?? "", /more than 100000 steps/);
  assert.match(said.at(-1) ?? "", /more than 1000000 steps/);
});

Deno.test("renderTemplate: twice the template takes twice the steps", () => {
  const steps = (template: JsonValue) => {
    let spent = 0;
    const budget = {
      spend: (more: number) => void (spent += more),
      spendText: (characters: number) => void (spent += 1 + Math.floor(characters / 16)),
    };
    renderTemplate(template, {}, budget);
    return spent;
  };
  const templates: readonly ((size: number) => JsonValue)[] = [
    (size) => "$".repeat(size),
    (size) => "$${".repeat(size),
    (size) => "${1}".repeat(size),
    (size) => E(`[${Array(size).fill("1").join(",")}]`),
    (size) => E(Array(size / 10).fill("1").join("+")),
    (size) => Array(size).fill({ a: 1 }),
  ];
  for (const make of templates) {
    const [one, two] = [steps(make(1_000)), steps(make(2_000))];
    assert.ok(two <= one * 2.2, `${one} and ${two} steps`);
  }
});

Deno.test("createBudget: what is spent is taken from the whole too", () => {
  const whole = createBudget(10);
  createBudget(8, whole).spend(8);
  assert.throws(() => createBudget(8, whole).spend(3), TooMuchWork);
  assert.throws(() => createBudget(5).spend(6), TooMuchWork);
  assert.throws(() => createBudget(1_000_000).spendText(1_000_000), /a text of more than/);
  assert.throws(() => spendSearch(createBudget(100_000), 200_000, 100_000), TooMuchWork);
});
