import { MAX_REFUSALS } from "../protocol/reaction.ts";
import { saveBootstrap } from "../state/bootstrap.ts";
import { boxRules, demandBound } from "./boxes.ts";
import type { BoundContext } from "./context.ts";
import {
  ask,
  enrollRequest,
  type EnrollSuccess,
  hashOfToken,
  judgeEnrollAnswer,
  reactTo,
  refusalsOf,
} from "./enroll.ts";
import { fail, ok, type Result } from "../result.ts";

/** What came of asking. `waiting`: nothing new; why is for people. */
export type AskedAgain =
  | { readonly kind: "stored" }
  | { readonly kind: "waiting"; readonly why: string };

/** Asks `/enroll` for another answer than the one that is refused (trust.md T3). */
export interface EnrollAgain {
  /** One request where its time has come. A new answer takes the place of the stored one. */
  ask(context: BoundContext): Promise<AskedAgain>;
}

/** Asks with the keys and the token that the stored answer was given to. */
export function openEnrollAgain(): EnrollAgain {
  let requestRefused = 0;
  /** Why asking is over until a restart. */
  let over: string | null = null;

  function waiting(why: string): AskedAgain {
    return { kind: "waiting", why };
  }

  return {
    async ask(context) {
      const { config, binding, channels, ports } = context;
      const token = config.enrollmentToken;
      const isOwn = config.clusterId === binding.cluster_id &&
        config.nodeName === binding.node_name;
      if (token === undefined || !isOwn) {
        return waiting("config.yaml has no token to ask with again: this node needs a new server");
      }
      const tokenHash = hashOfToken(token);
      if (over !== null) return waiting(over);
      if (refusalsOf(context, tokenHash) >= MAX_REFUSALS) {
        return waiting("the portal refuses the token: this node needs a new server");
      }
      if (channels.waitMs("enrollment") > 0) return waiting("will ask the portal again");

      const request = await enrollRequest(
        context,
        context.identity.current,
        token,
        binding.server_id,
      );
      const meaning = await ask(context, request);
      if (meaning === null) return waiting("the program ends");
      const { reaction, refused } = await reactTo(context, meaning, tokenHash, requestRefused);
      requestRefused = refused;
      switch (reaction.do) {
        case "store": {
          if (meaning.kind !== "success") throw new Error("stored what is not a success");
          const stored = await replaceAnswer(context, request, meaning);
          if (stored.ok) return { kind: "stored" };
          await channels.failed("enrollment");
          ports.log.write("warn", "enroll_again_failed", stored.error);
          return waiting(stored.error);
        }
        case "back_off":
          await channels.failed("enrollment");
          ports.log.write("warn", reaction.code, `asking /enroll again: ${reaction.message}`);
          return waiting(reaction.message);
        case "wait":
          await channels.asked("enrollment", reaction.ms);
          return waiting(`the portal asks to wait ${Math.round(reaction.ms / 1000)} s`);
        case "idle":
          over = reaction.message;
          ports.log.write(
            "error",
            reaction.code,
            `will not ask /enroll again: ${reaction.message}`,
          );
          return waiting(over);
      }
    },
  };
}

/** Stores an answer in the place of the one before. The error is for people. */
async function replaceAnswer(
  context: BoundContext,
  request: Awaited<ReturnType<typeof enrollRequest>>,
  answered: EnrollSuccess,
): Promise<Result<void, string>> {
  const { known } = await boxRules(context);
  const identity = context.identity.current;
  const judged = judgeEnrollAnswer(context, identity, request, answered, known);
  if (!judged.ok) return fail(`${judged.error.code}: ${judged.error.message}`);
  const { answer, unbound } = judged.value;
  if (answer.sealing === "bound") {
    const demanded = await demandBound(context);
    if (!demanded.ok) return demanded;
  }
  const saved = await saveBootstrap(context.ports.disk, {
    server_id: request.server_id,
    portal: context.binding.portal,
    answer,
    ...(Object.keys(unbound).length === 0 ? {} : { boxes: unbound }),
  });
  if (!saved.ok) return fail(saved.error.message);
  context.ports.log.write("info", "enrolled_again", "another answer to the enrollment is stored");
  return ok(undefined);
}
