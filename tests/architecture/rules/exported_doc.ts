/// <reference lib="deno.unstable" />
import { isProduct } from "./room.ts";

type Export = Deno.lint.ExportNamedDeclaration | Deno.lint.ExportDefaultDeclaration;

/**
 * Everything that core, an adapter or the command line exports says in a doc comment what it is
 * for. One comment is enough for constants that follow one another line by line, and for a
 * schema and its type of the same name. A re-export needs none: the text stands where the thing
 * is defined.
 */
export const exportedDoc: Deno.lint.Rule = {
  create(context) {
    if (!isProduct(context.filename)) return {};
    const source = context.sourceCode;
    const documented = new Set<string>();
    const seen: Export[] = [];

    const check = (node: Export) => {
      if (node.declaration === null) return;
      const name = nameOf(node.declaration);
      const previous = seen.at(-1);
      seen.push(node);
      if (
        hasDocComment(source, node) ||
        (node.declaration.type === "TSTypeAliasDeclaration" && documented.has(name)) ||
        (node.declaration.type === "VariableDeclaration" && previous !== undefined &&
          documented.has(nameOf(previous.declaration)) && isNextLine(source, previous, node))
      ) {
        documented.add(name);
        return;
      }
      const message = `${name} says in a doc comment what it is for: purpose, units, errors`;
      context.report({ range: [node.range[0], node.range[0] + "export".length], message });
    };
    return { ExportNamedDeclaration: check, ExportDefaultDeclaration: check };
  },
};

function hasDocComment(source: Deno.lint.SourceCode, node: Deno.lint.Node): boolean {
  return source.getAllComments().some((comment) =>
    comment.type === "Block" && comment.value.startsWith("*") &&
    comment.range[1] <= node.range[0] &&
    source.text.slice(comment.range[1], node.range[0]).trim() === ""
  );
}

function isNextLine(source: Deno.lint.SourceCode, first: Export, second: Export): boolean {
  return first.declaration?.type === "VariableDeclaration" &&
    /^[ \t]*\n[ \t]*$/.test(source.text.slice(first.range[1], second.range[0]));
}

function nameOf(declaration: Export["declaration"]): string {
  if (declaration === null) return "default";
  if (declaration.type === "VariableDeclaration") {
    const id = declaration.declarations[0]?.id;
    return id?.type === "Identifier" ? id.name : "an export";
  }
  return "id" in declaration && declaration.id?.type === "Identifier"
    ? declaration.id.name
    : "default";
}
