import * as z from "zod";
import { fail, ok } from "../result.ts";
import { defineOperation, PROGRAM_ENDS, type StepEnd, type StepTools } from "./definition.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({});
type Tools = StepTools<z.infer<typeof Params>>;

/**
 * Replaces the agent's own keys (protocol §7). Whatever answer is lost and whichever side crashes: the
 * next pair is on disk before it is registered, a registration can be repeated, and the old pair goes
 * only after a sync with the new one. Once the portal took a pair the agent takes it over however long its
 * disk is full: one that signed with the old pair for good would be refused some day.
 */
export const agentRotateKey = defineOperation({
  kind: "agent.rotate_key",
  params: Params,
  needsApi: true,
  steps: {
    generate: {
      timeoutMs: TIMEOUT_MS.local,
      async run({ rotation }) {
        const prepared = await rotation.prepare();
        if (!prepared.ok) return { kind: "failed", message: prepared.error };
        return { kind: "done", evidence: `the next keys, made ${prepared.value}, are stored` };
      },
    },

    register: {
      timeoutMs: TIMEOUT_MS.portal,
      async run(tools) {
        const failed = await register(tools);
        if (failed !== null) return failed;
        const taken = await tools.complete(
          "the disk to take the new keys",
          () => tools.rotation.takeOver(),
        );
        if (taken === null) return PROGRAM_ENDS;
        return { kind: "done", evidence: "the portal took the keys, and they are in use" };
      },
    },

    confirm: {
      timeoutMs: TIMEOUT_MS.portal,
      async run(tools) {
        const { rotation, waitFor, complete, say } = tools;
        while (!rotation.isConfirmed()) {
          const isDecided = () => rotation.isConfirmed() || rotation.isForgotten();
          const seen = await waitFor(
            SYNC,
            () => Promise.resolve(isDecided() ? true : null),
          ) ?? await complete(
            SYNC,
            () => Promise.resolve(isDecided() ? ok(true) : fail("none has succeeded yet")),
          );
          if (seen === null) return PROGRAM_ENDS;
          if (!rotation.isForgotten()) continue;
          await say("the portal takes the old keys and not the new ones: registering them again");
          const failed = await register(tools);
          if (failed !== null) return failed;
        }
        return {
          kind: "done",
          handed: { keys_created_at: rotation.createdAt() },
          evidence: "a sync with the new keys succeeded, and the old ones are gone",
        };
      },
    },
  },
  output: ({ keys_created_at }) => ({ keys_created_at: keys_created_at ?? null }),
});

const SYNC = "a sync with the new keys";

/** Asks the portal to take the new keys until it does; or why it did not. */
async function register({ rotation, ports, signal, say }: Tools): Promise<StepEnd | null> {
  while (!signal.aborted) {
    const registration = await rotation.register();
    if (registration.kind === "registered") return null;
    if (registration.kind === "aborted") break;
    if (registration.kind === "refused") {
      return { kind: "failed", code: "not_registered", message: registration.message };
    }
    await say(`not registered yet: ${registration.why}`);
    await ports.clock.sleep(registration.ms, signal);
  }
  return { kind: "failed", message: "the portal did not take the new keys" };
}
