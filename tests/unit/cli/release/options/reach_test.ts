import assert from "node:assert/strict";
import { reachOf } from "../../../../../cli/release/options/reach.ts";
import type { JsonValue } from "../../../../../core/json.ts";
import { AddonTemplate } from "../../../../../core/protocol/release.ts";

function reach(objects: JsonValue): Record<string, string> {
  const options = Object.fromEntries(["a", "b", "c"].map((name) => [name, { type: "string" }]));
  const found = reachOf(AddonTemplate.parse({ options, objects }));
  assert.ok(found.ok, JSON.stringify(found));
  return Object.fromEntries(
    Object.entries(found.value).map(([place, names]) => [place, [...names].sort().join("")]),
  );
}

const NONE = { values: "", texts: "", elsewhere: "" };
const HEAD = { apiVersion: "helm.cattle.io/v1", kind: "HelmChart", metadata: { name: "x" } };

function chart(spec: JsonValue): JsonValue {
  return { ...HEAD, spec };
}

function values(of: JsonValue): JsonValue {
  return [chart({ values: of })];
}

/** Values of a chart, and the options that they are made of. */
const VALUES: readonly [string, JsonValue, string][] = [
  ["nothing", { x: 1, y: "options.a" }, ""],
  ["an expression", { x: { $eval: "options.a" } }, "a"],
  ["a text", { x: "to ${options.a} and ${options['b']}" }, "ab"],
  ["a text with none in it", { x: "$${options.a}" }, ""],
  ["a key", { "${options.a}": 1 }, "a"],
  ["a list", { x: [1, [{ $eval: "[options.a, {k: options.b}]" }]] }, "ab"],
  ["a sum", { x: { $eval: "'x' + options.a" } }, "a"],
  ["a function of texts", { x: { $eval: "lowercase(split(options.a, options.b)[0])" } }, "ab"],
  ["a function that counts", { x: { $eval: "len(options.a)" } }, ""],
  ["a comparison", { x: { $eval: "options.a == options.b || !options.c" } }, ""],
  ["all options", { $eval: "options" }, "abc"],
  ["one that another one names", { x: { $eval: "options[options.a]" } }, "abc"],
  ["a part of one", { x: { $eval: "options.a[0:3]" } }, "a"],
  ["a condition", { $if: "options.a == 'x'", then: { x: 1 }, else: { y: 2 } }, ""],
  [
    "branches",
    { $if: "options.a", then: { x: { $eval: "options.b" } }, else: "${options.c}" },
    "bc",
  ],
  ["$let", { $let: { v: { $eval: "options.a" } }, in: { x: { $eval: "v" } } }, "a"],
  ["$let of all", { $let: { o: { $eval: "options" } }, in: { x: "${o.b}" } }, "b"],
  ["$let that is not used", { $let: { v: { $eval: "options.a" } }, in: { x: 1 } }, ""],
  ["$let of names out of options", { $let: { $eval: "options" }, in: { x: "${a}" } }, "abc"],
  [
    "$let of a name out of an option",
    { $let: { "${options.a}": { $eval: "options.b" } }, in: { x: "${y}" } },
    "ab",
  ],
  ["$map", { x: { $map: { $eval: "options.a" }, "each(v, i)": { k: "${v}" } } }, "a"],
  ["$map of all", { x: { $map: { $eval: "options" }, "each(v)": "${v.val}" } }, "abc"],
  [
    "$reduce",
    { x: { $reduce: { $eval: "options.a" }, initial: "${options.b}", "each(s, v)": "${s}${v}" } },
    "ab",
  ],
  ["$find", { x: { $find: { $eval: "options.a" }, "each(v)": "v == options.b" } }, "a"],
  ["$match", { $match: { "options.a == 1": { x: "${options.b}" } } }, "b"],
  ["$switch", { $switch: { "options.a": { x: 1 }, $default: { x: "${options.c}" } } }, "c"],
  ["$merge", { $merge: [{ x: 1 }, { $eval: "options.a" }] }, "a"],
  ["$mergeDeep", { $mergeDeep: [{ x: "${options.a}" }, { y: 1 }] }, "a"],
  ["$flattenDeep", { x: { $flattenDeep: [[{ $eval: "options.a" }]] } }, "a"],
  ["$sort", { x: { $sort: { $eval: "options.a" }, "by(v)": "v.k" } }, "a"],
  ["$reverse", { x: { $reverse: { $eval: "options.a" } } }, "a"],
  ["$json", { x: { $json: { $eval: "options.a" } } }, "a"],
  ["the world around it", { x: "${cluster.name} ${node.name} ${now}" }, ""],
];

for (const [what, template, options] of VALUES) {
  Deno.test(`reachOf: into values: ${what}`, () => {
    assert.deepEqual(reach(values(template)), { ...NONE, values: options });
  });
}

/** Lists of objects, and what they are made of. */
const OBJECTS: readonly [string, JsonValue, Record<string, string>][] = [
  ["valuesContent by $json", [chart({ valuesContent: { $json: { x: "${options.a}" } } })], {
    values: "a",
  }],
  ["valuesContent as a text", [chart({ valuesContent: "x: ${options.a}\n" })], { texts: "a" }],
  [
    "valuesContent in a branch",
    [chart({
      valuesContent: { $if: "options.c", then: "x: ${options.a}", else: { $json: "${options.b}" } },
    })],
    { texts: "a", values: "b" },
  ],
  ["set", [chart({ set: { x: { $eval: "options.a" } } })], { texts: "a" }],
  ["the chart's own name", [chart({ chart: "${options.a}", version: "1" })], { texts: "a" }],
  [
    "metadata",
    [{ ...HEAD, metadata: { name: "${options.a}", labels: { x: "${options.b}" } } }],
    {},
  ],
  ["a Platform", [{ ...HEAD, kind: "Platform", spec: { x: "${options.a}" } }], { elsewhere: "a" }],
  ["a HelmChartConfig", [{ ...HEAD, kind: "HelmChartConfig", spec: { values: "${options.a}" } }], {
    values: "a",
  }],
  ["a kind that is made", [{ ...HEAD, kind: "${options.b}", spec: { values: "${options.a}" } }], {
    values: "a",
  }],
  ["a spec that is made", [chart({ $eval: "options.a" })], { texts: "a" }],
  ["a spec in branches", [chart({ $if: "options.b", then: { values: "${options.a}" } })], {
    values: "a",
  }],
  ["a spec put together", [chart({ $merge: [{ repo: "x" }, { values: "${options.a}" }] })], {
    values: "a",
  }],
  ["an object put together", [{ $merge: [HEAD, { spec: { values: "${options.a}" } }] }], {
    values: "a",
  }],
  ["an object in a branch", { $if: "options.b", then: values("${options.a}") }, { values: "a" }],
  ["objects of a loop", { $map: ["x"], "each(v)": chart({ values: "${options.a}${v}" }) }, {
    values: "a",
  }],
  ["objects flattened", { $flatten: [values("${options.a}"), []] }, { values: "a" }],
  ["objects by a name", { $let: { o: values("${options.a}") }, in: { $eval: "o" } }, {
    texts: "a",
  }],
  ["objects that are made", { $eval: "options.a" }, { texts: "a" }],
  ["a member that is made", [{ ...HEAD, "${'spec'}": { values: "${options.a}" } }], {
    values: "a",
  }],
];

for (const [what, objects, places] of OBJECTS) {
  Deno.test(`reachOf: by objects: ${what}`, () => {
    assert.deepEqual(reach(objects), { ...NONE, ...places });
  });
}

Deno.test("reachOf: says where a template cannot be read", () => {
  const found = reachOf(AddonTemplate.parse({ options: {}, objects: values("${options.") }));
  assert.match(found.ok ? "" : found.error, /^objects: the template cannot be read: an expression/);
});
