import * as z from "zod";
import { defineOperation, type StepEnd, type StepTools } from "./definition.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({});
type Tools = StepTools<z.infer<typeof Params>>;

/**
 * Replaces the agent's own keys (protocol §7). Whatever answer is lost and whichever side crashes: the
 * next pair is on disk before it is registered, a registration can be repeated, and the old pair goes
 * only after a sync with the new one.
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
        const taken = await tools.rotation.takeOver();
        if (!taken.ok) return { kind: "failed", message: taken.error };
        return { kind: "done", evidence: "the portal took the keys, and they are in use" };
      },
    },

    confirm: {
      timeoutMs: TIMEOUT_MS.portal,
      async run(tools) {
        const { rotation, waitFor, say } = tools;
        while (!rotation.isConfirmed()) {
          const seen = await waitFor(
            "a sync with the new keys",
            () => Promise.resolve(rotation.isConfirmed() || rotation.isForgotten() ? true : null),
          );
          if (seen === null) {
            return { kind: "failed", message: "no sync with the new keys succeeded" };
          }
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
