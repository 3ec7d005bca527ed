import assert from "node:assert/strict";
import * as z from "zod";
import { verifyRelease } from "../../../core/protocol/dsse.ts";
import { rotationProof } from "../../../core/protocol/rotate_key.ts";
import { verify } from "../../../core/protocol/signing.ts";
import { SyncAnswer } from "../../../core/protocol/sync.ts";
import { present } from "../../present.ts";
import { generatedFixtures } from "../../../fixtures/generate.ts";
import { generatedSchemas, SCHEMAS } from "../../../fixtures/generate_schemas.ts";
import { ENROLLMENT_DOCUMENTS } from "../../../fixtures/source/enrollment.ts";
import { AGENT, bytesFromBase64, LAB_RELEASE_KEYS } from "../../../fixtures/source/material.ts";

const FIXTURES = new URL("../../../fixtures/", import.meta.url);
const GENERATED_FOLDERS = ["protocol", "refused", "vectors", "releases", "schemas"];

/** Every file of the generated folders that is there, by its path below `fixtures/`. */
function filesThere(): Map<string, string> {
  return new Map(
    GENERATED_FOLDERS.flatMap((folder) =>
      Array.from(Deno.readDirSync(new URL(`${folder}/`, FIXTURES)), ({ name }) => {
        const path = `${folder}/${name}`;
        return [path, Deno.readTextFileSync(new URL(path, FIXTURES))] as const;
      })
    ),
  );
}

/** The schema that the document of that fixture name belongs to: the longest one it begins with. */
function schemaOf(name: string): z.ZodType {
  const fitting = Object.keys(SCHEMAS).filter((key) => name === key || name.startsWith(`${key}_`));
  const key = fitting.sort((a, b) => b.length - a.length)[0];
  assert.ok(key !== undefined, `no schema for fixture ${name}`);
  return present(SCHEMAS[key]);
}

function nameOf(path: string): string {
  return path.replace(/^.*\/|\.json$/g, "");
}

const there = filesThere();

Deno.test("fixtures: the files are what their sources generate, no more and no less", () => {
  const generated = new Map([...generatedFixtures(), ...generatedSchemas()]);
  const hint = "run fixtures/generate.ts and fixtures/generate_schemas.ts";
  assert.deepEqual([...there.keys()].sort(), [...generated.keys()].sort(), hint);
  for (const [path, text] of generated) assert.equal(there.get(path), text, `${path}: ${hint}`);
});

Deno.test("fixtures: every example document matches its schema, and says nothing unknown", () => {
  const examples = [...there].filter(([path]) => path.startsWith("protocol/"));
  assert.ok(examples.length > 40);
  for (const [path, text] of examples) {
    const document: unknown = JSON.parse(text);
    const parsed = schemaOf(nameOf(path)).safeParse(document);
    assert.ok(parsed.success, `${path}: ${parsed.error}`);
    assert.deepEqual(parsed.data, document, path);
  }
});

Deno.test("fixtures: the agent takes the example answers of a sync", () => {
  for (const name of ["sync_answer", "sync_answer_unchanged"]) {
    const document: unknown = JSON.parse(present(there.get(`protocol/${name}.json`)));
    assert.deepEqual(SyncAnswer.parse(document), document, name);
  }
});

Deno.test("fixtures: each document of the protocol has an example", () => {
  const names = [...there.keys()].filter((path) => path.startsWith("protocol/")).map(nameOf);
  for (const key of Object.keys(SCHEMAS)) {
    if (key === "release" || key === "envelope") continue;
    assert.ok(names.some((name) => schemaOf(name) === SCHEMAS[key]), key);
  }
});

Deno.test("fixtures: no document is longer than a body may be", () => {
  for (const [path, text] of there) {
    assert.ok(new TextEncoder().encode(text).length <= 262_144, path);
  }
});

Deno.test("fixtures: each release verifies, and its payload is the file beside it", async () => {
  const trusted = LAB_RELEASE_KEYS.map((key) => key.publicKey);
  const envelopes = [...there].filter(([path]) => /^releases\/[0-9.]+\.json$/.test(path));
  assert.ok(envelopes.length >= 2);
  for (const [path, text] of envelopes) {
    const release = await verifyRelease(new TextEncoder().encode(text), nameOf(path), trusted);
    assert.ok(release.ok, path);
    const payload = bytesFromBase64(JSON.parse(text).payload);
    assert.equal(
      new TextDecoder().decode(payload),
      there.get(`releases/${nameOf(path)}.payload.json`),
    );
    assert.ok(present(SCHEMAS["release"]).safeParse(release.value).success);
    assert.ok(present(SCHEMAS["envelope"]).safeParse(JSON.parse(text)).success);
  }
});

Deno.test("fixtures: the rotation's proof is the new key's signature", () => {
  const { public_keys, proof } = ENROLLMENT_DOCUMENTS.rotate_request;
  const signed = rotationProof(AGENT.id, public_keys);
  const newKey = bytesFromBase64(public_keys.signing);
  assert.equal(verify(newKey, bytesFromBase64(proof), signed), true);
  assert.equal(verify(AGENT.signing.publicKey, bytesFromBase64(proof), signed), false);
});

Deno.test("JSON Schemas: rules that JSON Schema cannot say stand beside it in words", () => {
  const text = present(there.get("schemas/desired_state.json"));
  for (
    const rule of ["no five-field cron schedule", "no IANA time zone", "names an add-on twice"]
  ) {
    assert.ok(text.includes(rule), rule);
  }
});
