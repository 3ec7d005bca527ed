import assert from "node:assert/strict";
import type { JsonValue } from "../../core/json.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { signEnvelope, verifyRelease } from "../../core/protocol/dsse.ts";
import { RELEASE_FILE } from "../../core/state/paths.ts";
import { Secret } from "../../core/secret.ts";
import { LAB_RELEASE_KEYS } from "../../fixtures/source/material.ts";
import { envelope, FOREIGN_SEED, RELEASE, releaseDocument, TRUSTED, WORDS } from "./documents.ts";
import { fuzz, SEED } from "./fuzz.ts";
import { footprintOf } from "./footprint.ts";
import { answered, assertHarmless, enrolled } from "./live.ts";
import { mutate } from "./mutate.ts";
import { json, raw } from "./replies.ts";
import { readStrictly } from "./strict_json.ts";
import { isRelease, isSigned } from "./manifest_oracle.ts";

Deno.test("verifyRelease: of 1,500 spoiled envelopes takes those that WebCrypto takes", async () => {
  let taken = 0;
  await fuzz("envelope", 1_500, async (dice) => {
    const bytes = mutate(dice, dice.chance(80) ? envelope() : withForeignSignatures(), WORDS);
    const release = await verifyRelease(bytes, RELEASE, TRUSTED);
    const expected = await isSigned(readStrictly(bytes), TRUSTED);
    assert.equal(release.ok, expected, new TextDecoder().decode(bytes).slice(0, 300));
    if (release.ok) {
      taken++;
      const { verified_by: _, ...document } = release.value;
      assert.deepEqual(document, JSON.parse(JSON.stringify(releaseDocument())));
    }
  });
  assert.ok(taken > 100, `${taken} were valid all the same`);
});

Deno.test("verifyRelease: of 900 spoiled payloads that are signed takes only what is a release", async () => {
  let taken = 0;
  await fuzz("payload", 900, async (dice) => {
    const payload = mutate(dice, releaseDocument() as unknown as JsonValue, WORDS);
    const release = await verifyRelease(signed(payload), RELEASE, TRUSTED);
    assert.equal(
      release.ok,
      isRelease(readStrictly(payload), RELEASE),
      new TextDecoder().decode(payload),
    );
    if (release.ok) taken++;
  });
  assert.ok(taken > 50, `${taken} were valid all the same`);
});

Deno.test("runAgent: 60 spoiled manifests apply nothing, and the good one after them all", async () => {
  await fuzz("agent, manifest", 60, async (dice, index) => {
    const world = await enrolled(SEED + index);
    // The enrollment needed this release's manifest: it is asked for again where it is at hand no more.
    await world.stop();
    await world.disk.remove(RELEASE_FILE);
    world.start();
    const good = world.documents().syncAnswer(index, true);
    const before = footprintOf(world);
    const bytes = dice.chance(50)
      ? mutate(dice, envelope(), WORDS)
      : signed(mutate(dice, releaseDocument() as unknown as JsonValue, WORDS));
    const takes = (await verifyRelease(bytes, RELEASE, TRUSTED)).ok;
    world.forget();
    let offered = false;
    world.answerWith(({ question }) => {
      if (question === "manifest" && !offered) {
        offered = true;
        return raw(200, bytes);
      }
      return question === "sync" ? json(200, good) : undefined;
    });
    assert.ok(await world.until(() => offered));
    await world.clock.settle();
    if (!takes) assert.deepEqual(footprintOf(world), before);
    await assertHarmless(world);

    const accepted = () => JSON.parse(footprintOf(world).desired)?.state.revision === index;
    world.answerWith(({ question }) => question === "sync" ? json(200, good) : undefined);
    assert.ok(await world.until(accepted), "the good manifest is not taken");
    await answered(world, "sync", () => json(200, good));
    assert.notEqual(footprintOf(world).snapshots, null);
    await assertHarmless(world);
    await world.stop();
  });
});

function signed(payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const seeds = LAB_RELEASE_KEYS.map((key) => key.seed);
  return new TextEncoder().encode(JSON.stringify(signEnvelope(payload, seeds)));
}

/** Signatures that count for nothing around the one that does. */
function withForeignSignatures(): JsonValue {
  const { payload, payloadType, signatures } = envelope() as {
    payload: string;
    payloadType: string;
    signatures: { keyid: string; sig: string }[];
  };
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  const foreign = signEnvelope(bytes, [new Secret<Uint8Array>(FOREIGN_SEED)]).signatures;
  const stolen = signatures.slice(0, 1).map(({ keyid }) => ({
    keyid,
    sig: encodeBase64(new Uint8Array(64)),
  }));
  return {
    payload,
    payloadType,
    signatures: [...foreign, ...stolen, ...signatures.slice(1)],
  } as unknown as JsonValue;
}
