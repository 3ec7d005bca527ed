import assert from "node:assert/strict";
import { isDrawn, parseEdges, roomOf } from "./edges.ts";
import { importCycles, reachable, undrawnImports } from "./graph_rules.ts";
import { moduleGraph } from "./module_graph.ts";
import { REPOSITORY, sourceFiles } from "./source_files.ts";

const drawing = parseEdges(await Deno.readTextFile(`${REPOSITORY}ARCHITECTURE.md`));

Deno.test("module graph: only the edges that ARCHITECTURE.md draws, and no cycle", async () => {
  const files = await sourceFiles(REPOSITORY);
  const imports = await moduleGraph(REPOSITORY, files);
  assert.ok(imports.some(({ file }) => file.startsWith("core/")), "the graph is empty");
  assert.deepEqual(undrawnImports(drawing, imports), []);
  assert.deepEqual(importCycles(imports), []);
});

Deno.test("module graph: the shipped program reaches no lab key, no fake and no portal", async () => {
  const imports = await moduleGraph(REPOSITORY, await sourceFiles(REPOSITORY));
  const eager = imports.filter(({ isLazy }) => !isLazy);
  const reached = [...reachable(eager, "cli/main.ts")];
  assert.ok(reached.some((file) => file.startsWith("core/")), "cli/main.ts reaches no core");
  const others =
    /^(fixtures|tests|simulate|adapters\/(fake|portal))\/|^cli\/(lab|portal|demo|simulate)\.ts$/;
  assert.deepEqual(reached.filter((file) => others.test(file)), []);
});

Deno.test("module graph: the shipped program's simulation reaches the fakes alone, and by itself alone", async () => {
  const imports = await moduleGraph(REPOSITORY, await sourceFiles(REPOSITORY));
  const reached = [...reachable(imports, "cli/main.ts")];
  assert.ok(reached.includes("simulate/fleet/fleet.ts"), "cli/main.ts reaches no simulation");
  const others = /^(fixtures|tests|adapters\/portal)\/|^cli\/(lab|portal|demo|simulate)\.ts$/;
  assert.deepEqual(reached.filter((file) => others.test(file)), []);
  const beside = imports.filter(({ file }) => !file.startsWith("simulate/"));
  const without = [...reachable(beside, "cli/main.ts")];
  assert.deepEqual(without.filter((file) => file.startsWith("adapters/fake/")), []);
});

Deno.test("reachable: follows imports through other files, in their direction only", () => {
  const edge = (file: string, target: string) => ({
    file,
    target,
    isTypeOnly: false,
    isLazy: false,
  });
  const imports = [edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("d", "e")];
  assert.deepEqual([...reachable(imports, "b")].sort(), ["a", "b", "c"]);
});

Deno.test("module graph: every planted edge is seen, nothing else", async () => {
  await usingPlanted(PLANTED, async (root) => {
    const imports = await moduleGraph(root, await sourceFiles(root));
    const found = undrawnImports(drawing, imports).map((each) => each.split(": ")[0]);
    assert.deepEqual(found.sort(), FORBIDDEN.toSorted());
  });
});

Deno.test("module graph: an import of nothing is an error, not an allowed edge", async () => {
  await usingPlanted({ "core/state/a.ts": 'import "zood";' }, async (root) => {
    await assert.rejects(moduleGraph(root, ["core/state/a.ts"]), /zood/);
  });
  await usingPlanted({ "core/state/a.ts": 'import "./gone.ts";' }, async (root) => {
    await assert.rejects(moduleGraph(root, ["core/state/a.ts"]), /gone/);
  });
});

Deno.test("importCycles: finds cycles of values and of types, and one-file ones", async () => {
  const files = {
    "core/state/a.ts": 'import "./b.ts";',
    "core/state/b.ts": 'import type { C } from "./c.ts"; export type B = C;',
    "core/state/c.ts": 'import "./a.ts"; export type C = 1;',
    "core/state/self.ts": 'export * from "./self.ts";',
    "core/state/d.ts": 'import "./a.ts"; import "./b.ts";',
  };
  await usingPlanted(files, async (root) => {
    assert.deepEqual(importCycles(await moduleGraph(root, Object.keys(files))).sort(), [
      "core/state/a.ts -> core/state/b.ts -> core/state/c.ts -> core/state/a.ts",
      "core/state/self.ts -> core/state/self.ts",
    ]);
  });
});

Deno.test("parseEdges: refuses a drawing that is missing or cannot be read", () => {
  assert.throws(() => parseEdges("# no block"), /no block/);
  assert.throws(() => parseEdges("```edges\na -> b\nc\n```\n"), /not an edge.*: c$/);
  assert.throws(() => parseEdges("```edges\na -> b -> c\n```\n"), /not an edge/);
});

Deno.test("isDrawn: a star is one name or more, type: covers types only", () => {
  const edges = parseEdges(
    "```edges\ncore/* -> core/(root) npm:@noble/* type:npm:kubernetes\n```\n",
  );
  assert.ok(isDrawn(edges, "core/state", "core/(root)"));
  assert.ok(isDrawn(edges, "core/state", "npm:@noble/curves"));
  assert.ok(isDrawn(edges, "core/state", "type:npm:@noble/curves"));
  assert.ok(isDrawn(edges, "core/state", "type:npm:kubernetes"));
  assert.ok(!isDrawn(edges, "core/state", "npm:kubernetes"));
  assert.ok(!isDrawn(edges, "core/state", "npm:@nobles"));
  assert.ok(!isDrawn(edges, "cli", "core/(root)"));
});

Deno.test("roomOf: folders of core and adapters are rooms, the others are one each", () => {
  assert.equal(roomOf("core/json.ts"), "core/(root)");
  assert.equal(roomOf("core/state/deep/file.ts"), "core/state");
  assert.equal(roomOf("adapters/node/clock.ts"), "adapters/node");
  assert.equal(roomOf("cli/commands/run.ts"), "cli");
  assert.equal(roomOf("tests/unit/host/x_test.ts"), "tests");
});

/** A small repository: allowed edges first, then one file per rule that breaks it. */
const PLANTED: Readonly<Record<string, string>> = {
  "core/json.ts": "export type Json = 1;",
  "core/ports/clock.ts": 'export type { Json } from "../json.ts";',
  "core/protocol/sync.ts": 'import "zod"; import "@noble/hashes/sha2.js"; import "../json.ts";',
  "core/state/mod.ts": 'import "../ports/clock.ts"; import "../protocol/sync.ts";',
  "core/agent/cycle.ts": 'import "../state/mod.ts"; import "../json.ts";',
  "adapters/node/k8s.ts":
    'import type { Pod } from "kubernetes-types/core/v1"; export type P = Pod;',
  "adapters/fake/clock.ts": 'import "../../core/ports/clock.ts"; import "node:fs";',
  "adapters/portal/server.ts": 'import "../../core/protocol/sync.ts"; import "selfsigned";',
  "cli/main.ts": 'import "../adapters/node/k8s.ts"; import "../core/agent/cycle.ts";',
  "tests/unit/x_test.ts": 'import "fast-check"; import "../../cli/main.ts";',

  "core/ports/bad_protocol.ts": 'import "../protocol/sync.ts";',
  "core/protocol/bad_ports.ts":
    'import type { Json } from "../ports/clock.ts"; export type J = Json;',
  "core/state/bad_agent.ts": 'import "../agent/cycle.ts";',
  "core/host/bad_cluster.ts": 'export * from "../cluster/plan.ts";',
  "core/cluster/plan.ts": "export {};",
  "core/bad_root.ts": 'import "./state/mod.ts";',
  "core/host/bad_node.ts": 'import "node:fs";',
  "core/host/bad_adapter.ts": 'import "../../adapters/fake/clock.ts";',
  "core/host/bad_library.ts": 'import "fast-check";',
  "core/host/bad_types.ts": 'export type P = import("kubernetes-types/core/v1").Pod;',
  "core/host/bad_dynamic.ts": 'export const f = () => import("../update/x.ts");',
  "core/update/x.ts": "export {};",
  "adapters/node/bad_fake.ts": 'import "../fake/clock.ts";',
  "adapters/fake/bad_portal.ts": 'import "../portal/server.ts";',
  "adapters/portal/bad_node.ts": 'import "../node/k8s.ts";',
  "adapters/node/bad_value.ts": 'import "kubernetes-fluent-client";',
  "adapters/node/bad_sodium.ts": 'import "libsodium-wrappers";',
  "adapters/node/bad_cli.ts": 'import "../../cli/main.ts";',
  "cli/bad_tests.ts": 'import "../tests/lab.ts";',
  "cli/bad_library.ts": 'import "fast-check";',
  "tests/lab.ts": "export {};",
};

const FORBIDDEN: readonly string[] = [
  "core/ports/bad_protocol.ts imports core/protocol/sync.ts",
  "core/protocol/bad_ports.ts imports types of core/ports/clock.ts",
  "core/state/bad_agent.ts imports core/agent/cycle.ts",
  "core/host/bad_cluster.ts imports core/cluster/plan.ts",
  "core/bad_root.ts imports core/state/mod.ts",
  "core/host/bad_node.ts imports node:fs",
  "core/host/bad_adapter.ts imports adapters/fake/clock.ts",
  "core/host/bad_library.ts imports npm:fast-check",
  "core/host/bad_types.ts imports types of npm:kubernetes-types",
  "core/host/bad_dynamic.ts imports core/update/x.ts",
  "adapters/node/bad_fake.ts imports adapters/fake/clock.ts",
  "adapters/fake/bad_portal.ts imports adapters/portal/server.ts",
  "adapters/portal/bad_node.ts imports adapters/node/k8s.ts",
  "adapters/node/bad_value.ts imports npm:kubernetes-fluent-client",
  "adapters/node/bad_sodium.ts imports npm:libsodium-wrappers",
  "adapters/node/bad_cli.ts imports cli/main.ts",
  "cli/bad_tests.ts imports tests/lab.ts",
  "cli/bad_library.ts imports npm:fast-check",
];

async function usingPlanted(
  files: Readonly<Record<string, string>>,
  use: (root: string) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const name of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(`${REPOSITORY}${name}`, `${root}/${name}`);
    }
    for (const [path, source] of Object.entries(files)) {
      await Deno.mkdir(`${root}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
      await Deno.writeTextFile(`${root}/${path}`, source);
    }
    await use(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}
