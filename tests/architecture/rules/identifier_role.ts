/// <reference lib="deno.unstable" />
/** What an identifier does where it stands. */
export type IdentifierRole = "binding" | "reference" | "other";

const VALUE_WRAPPERS: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression",
  "TSExportAssignment",
]);

const sameRange = (left: Deno.lint.Node | null, right: Deno.lint.Node) =>
  left !== null && left.range[0] === right.range[0] && left.range[1] === right.range[1];

/**
 * Whether `node` introduces a name, reads the value behind one, or is neither (a property's name,
 * a label, a part of a type). There is no scope analysis in a lint plugin: the rules that build on
 * this take a name that is bound anywhere in a file as bound in the whole of it.
 */
export function identifierRole(node: Deno.lint.Identifier): IdentifierRole {
  const parent = node.parent;
  switch (parent.type) {
    case "MemberExpression":
      return !parent.computed && sameRange(parent.property, node) ? "other" : "reference";
    case "Property":
      if (!parent.computed && !parent.shorthand && sameRange(parent.key, node)) return "other";
      return parent.parent.type === "ObjectPattern" ? "binding" : "reference";
    case "MethodDefinition":
    case "PropertyDefinition":
      return !parent.computed && sameRange(parent.key, node) ? "other" : "reference";
    case "VariableDeclarator":
      return sameRange(parent.id, node) ? "binding" : "reference";
    case "AssignmentPattern":
      return sameRange(parent.left, node) ? "binding" : "reference";
    case "ClassDeclaration":
    case "ClassExpression":
      return sameRange(parent.id, node) ? "binding" : "reference";
    case "ArrowFunctionExpression":
      return sameRange(parent.body, node) ? "reference" : "binding";
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrayPattern":
    case "RestElement":
    case "CatchClause":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
      return "binding";
    case "ImportSpecifier":
      return sameRange(parent.local, node) ? "binding" : "other";
    case "ExportSpecifier":
    case "ExportAllDeclaration":
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
    case "MetaProperty":
    case "ImportAttribute":
      return "other";
    default:
      return parent.type.startsWith("TS") && !VALUE_WRAPPERS.has(parent.type)
        ? "other"
        : "reference";
  }
}
