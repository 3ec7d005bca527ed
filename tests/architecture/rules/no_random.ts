/// <reference lib="deno.unstable" />
import { isCore } from "./room.ts";

/** What libraries of cryptography call their ways to the runtime's random source. */
const RANDOM_NAMES: ReadonlySet<string> = new Set([
  ...["randomBytes", "randomSecretKey", "randomPrivateKey"],
  ...["keygen", "setPRNG"],
]);

const message = (name: string) =>
  `core does not reach ${name}: a library's own randomness; use the random port`;

/**
 * Core draws no random bytes through a library either: noble's `randomBytes` and `keygen`, tweetnacl's
 * `keyPair()` without a seed, and a sealed box with a key of its own making.
 */
export const noRandom: Deno.lint.Rule = {
  create(context) {
    if (!isCore(context.filename)) return {};
    return {
      ImportSpecifier(node) {
        const { imported } = node;
        const name = imported.type === "Identifier" ? imported.name : imported.value;
        if (RANDOM_NAMES.has(name)) context.report({ node, message: message(name) });
      },
      MemberExpression(node) {
        if (node.property.type !== "Identifier") return;
        const { name } = node.property;
        if (RANDOM_NAMES.has(name)) context.report({ node, message: message(name) });
        const isSeal = name === "seal" && node.object.type === "Identifier" &&
          /^(sealedBox|nacl)$/.test(node.object.name);
        if (isSeal) context.report({ node, message: message("sealedBox.seal") });
      },
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
        if (callee.property.name !== "keyPair" || node.arguments.length > 0) return;
        context.report({ node, message: message("keyPair()") });
      },
    };
  },
};
