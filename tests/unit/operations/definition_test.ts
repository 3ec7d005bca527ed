import assert from "node:assert/strict";
import { z } from "zod";
import { defineOperation, type Definition } from "../../../core/operations/definition.ts";
import type { JsonObject } from "../../../core/json.ts";
import { step } from "./toy.ts";

const PARTS = {
  kind: "toy",
  params: z.record(z.string(), z.json()) as unknown as z.ZodType<JsonObject>,
  needsApi: false,
  output: (handed: JsonObject) => handed,
} satisfies Omit<Definition<JsonObject>, "steps">;

// The compiler is the test: each line below that it must refuse says so.
Deno.test("defineOperation: the compiler refuses a destructive step without a probe", () => {
  const probe = () => Promise.resolve({ kind: "not_begun" } as const);
  const names = [
    // @ts-expect-error: reset_restore needs a probe
    defineOperation({ ...PARTS, steps: { stop: step(), reset_restore: step() } }),
    // @ts-expect-error: reboot needs a probe
    defineOperation({ ...PARTS, steps: { reboot: step() } }),
    // @ts-expect-error: wipe_db needs a probe
    defineOperation({ ...PARTS, steps: { wipe_db: step() } }),
    // @ts-expect-error: a step needs something that runs it
    defineOperation({ ...PARTS, steps: { stop: { timeoutMs: 1_000 } } }),
    // @ts-expect-error: a step needs a time limit
    defineOperation({ ...PARTS, steps: { stop: { run: step().run } } }),
    defineOperation({ ...PARTS, steps: { stop: step(), reboot: { ...step(), probe } } }),
  ].map((definition) => Object.keys(definition.steps).join(" "));
  assert.deepEqual(names.at(-1), "stop reboot");
});
