/// <reference lib="deno.unstable" />
const STATEFUL: ReadonlySet<string> = new Set(["Map", "Set", "WeakMap", "WeakSet"]);

/**
 * Modules hold no state: no `let` or `var` outside a function, and no empty container that could
 * only be there to be filled later (one of a read-only type cannot be). State lives in values that
 * a factory makes, so that two agents in one process never meet.
 */
export const noModuleState: Deno.lint.Rule = {
  create(context) {
    return {
      VariableDeclaration(node) {
        const parent = node.parent;
        if (parent.type !== "Program" && parent.type !== "ExportNamedDeclaration") return;
        if (node.kind === "let" || node.kind === "var") {
          const message = `a module holds no state: move this ${node.kind} into a function`;
          context.report({ node, message });
          return;
        }
        for (const { id, init } of node.declarations) {
          if (init === null || !isEmptyContainer(init)) continue;
          const type = id.type === "Identifier" ? id.typeAnnotation : undefined;
          if (type && /^:?\s*(readonly |Readonly)/.test(context.sourceCode.getText(type))) continue;
          const message =
            "a module holds no state: make this container in the function that fills it";
          context.report({ node: init, message });
        }
      },
    };
  },
};

function isEmptyContainer(node: Deno.lint.Expression): boolean {
  if (node.type === "ArrayExpression") return node.elements.length === 0;
  return node.type === "NewExpression" && node.callee.type === "Identifier" &&
    STATEFUL.has(node.callee.name) && node.arguments.length === 0;
}
