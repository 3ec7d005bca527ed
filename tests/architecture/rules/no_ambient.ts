/// <reference lib="deno.unstable" />
import { AMBIENT_GLOBALS, AMBIENT_MEMBERS, PURE_GLOBALS } from "./globals.ts";
import { identifierRole } from "./identifier_role.ts";
import { isCore } from "./room.ts";

const HOLE = /[[,]\s*,/;
const STRING = /"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|`[^`]*`/g;

const reason = (name: string, why: string) => `core does not reach ${name}: ${why}`;

/**
 * Core reads no clock, dice, disk, network, process or environment by itself. A global that is
 * not on the list of pure ones is refused, and so are a local name that would hide an ambient
 * one, a pure global handed on under another name (`const { now } = Date`), `import.meta` and
 * `import()`.
 */
export const noAmbient: Deno.lint.Rule = {
  create(context) {
    if (!isCore(context.filename)) return {};
    const bound = new Set<string>();
    // By place: the key and the value of `{ fetch }` are two nodes in one place.
    const read = new Map<number, Deno.lint.Identifier>();

    const bind = (node: Deno.lint.Node, name: string) => {
      bound.add(name);
      if (!AMBIENT_GLOBALS.has(name)) return;
      context.report({ node, message: `a local ${name} hides the ambient one: rename it` });
    };

    return {
      Identifier(node) {
        const role = identifierRole(node);
        if (role === "reference") read.set(node.range[0], node);
        if (role === "binding") bind(node, node.name);
      },
      // What follows a hole in an array is missing from the tree that a plugin sees.
      ArrayPattern(node) {
        const text = context.sourceCode.getText(node);
        if (HOLE.test(text)) { for (const [name] of text.matchAll(/[\w$]+/g)) bind(node, name); }
      },
      ArrayExpression(node) {
        if (!HOLE.test(context.sourceCode.getText(node).replaceAll(STRING, '""'))) return;
        context.report({
          node,
          message: "a hole in an array hides what follows it: write undefined",
        });
      },
      MetaProperty(node) {
        if (node.meta.name !== "import") return;
        context.report({ node, message: reason("import.meta", "where the code lies is outside") });
      },
      ImportExpression(node) {
        context.report({ node, message: reason("import()", "loading code is outside") });
      },
      NewExpression(node) {
        if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
        if (node.arguments.length > 0) return;
        context.report({ node, message: reason("new Date()", "the time: use the clock port") });
      },
      MemberExpression(node) {
        if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
        const name = `${node.object.name}.${node.property.name}`;
        const why = AMBIENT_MEMBERS.get(name);
        if (why !== undefined) context.report({ node, message: reason(name, why) });
      },
      "Program:exit"() {
        for (const node of read.values()) {
          const why = AMBIENT_GLOBALS.get(node.name);
          if (why !== undefined) {
            context.report({ node, message: reason(node.name, why) });
          } else if (!bound.has(node.name) && !PURE_GLOBALS.has(node.name)) {
            const message = reason(node.name, "it is not on the list of pure globals");
            context.report({ node, message });
          } else if (hasAmbientMember(node.name) && !isUsedInPlace(node)) {
            const message = reason(`${node.name} as a value`, "it carries ambient members along");
            context.report({ node, message });
          }
        }
      },
    };
  },
};

function hasAmbientMember(name: string): boolean {
  return [...AMBIENT_MEMBERS.keys()].some((member) => member.startsWith(`${name}.`));
}

function isUsedInPlace(node: Deno.lint.Identifier): boolean {
  const parent = node.parent;
  if (parent.type === "MemberExpression") return !parent.computed;
  if (parent.type === "NewExpression") return true;
  return parent.type === "BinaryExpression" && parent.operator === "instanceof";
}
