import assert from "node:assert/strict";
import { createSbom, type LockFile } from "../../../../cli/build/sbom.ts";

const integrity = `sha512-${btoa("0".repeat(64))}`;
const LOCK: LockFile = {
  specifiers: {},
  npm: {
    "zod@4.6.7": { integrity },
    "@noble/curves@2.4.0": { integrity, dependencies: ["@noble/hashes@2.4.0"] },
    "@noble/hashes@2.4.0": { integrity },
    "lodash@4.0.0": { integrity },
    "json-e@4.8.4": { integrity, dependencies: ["lodash"] },
    "fast-check@4.11.0": { integrity, dependencies: ["isomorphic-ws"] },
    "isomorphic-ws@5.0.0_ws@8.23.0": { integrity },
  },
};
const IMPORTED = ["@noble/curves@2.4.0", "json-e@4.8.4"];

interface Bom {
  readonly components: readonly { readonly [member: string]: unknown }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: string[] }[];
}

function bom(lock = LOCK, imported = IMPORTED): Bom {
  return createSbom({ version: "1.2.3", imported, lock }) as Bom;
}

Deno.test("createSbom: what the program reaches is required, the rest excluded", () => {
  const required = bom().components.filter(({ scope }) => scope === "required");
  assert.deepEqual(required.map((each) => each["bom-ref"]), [
    ...["@noble/curves@2.4.0", "@noble/hashes@2.4.0", "json-e@4.8.4", "lodash@4.0.0"],
  ]);
  assert.equal(bom().components.length, 7);
});

Deno.test("createSbom: a component has name, version, package URL and hash", () => {
  assert.deepEqual(bom().components[0], {
    type: "library",
    "bom-ref": "@noble/curves@2.4.0",
    name: "@noble/curves",
    version: "2.4.0",
    scope: "required",
    purl: "pkg:npm/%40noble/curves@2.4.0",
    hashes: [{ alg: "SHA-512", content: "30".repeat(64) }],
  });
  const peer = bom().components.find(({ name }) => name === "isomorphic-ws");
  assert.equal(peer?.["purl"], "pkg:npm/isomorphic-ws@5.0.0");
});

Deno.test("createSbom: every dependency refers to a component", () => {
  const { components, dependencies } = bom();
  const refs = new Set(components.map((each) => each["bom-ref"]));
  const named = dependencies.flatMap(({ dependsOn }) => dependsOn);
  assert.deepEqual(named.filter((name) => !refs.has(name)), []);
  assert.deepEqual(dependencies[0]?.dependsOn, IMPORTED);
});

Deno.test("createSbom: a package that the lock lacks, has twice or without hash stops it", () => {
  assert.throws(() => bom(LOCK, ["gone@1.0.0"]), /gone@1\.0\.0 is 0 packages/);
  const twice = { ...LOCK.npm, "lodash@5.0.0": { integrity } };
  assert.throws(() => bom({ ...LOCK, npm: twice }), /lodash is 2 packages/);
  assert.throws(() => bom({ ...LOCK, npm: { a: { integrity: "sha1-x" } } }, []), /no SHA-512/);
});
