/// <reference lib="deno.unstable" />
import { isCore } from "./room.ts";

const message = (what: string) =>
  `core does not write ${what}: it depends on the machine's time zone; use toISOString()`;

/**
 * Core makes no text of a date but `toISOString()`, reads no date by its parts, and formats none without a
 * named zone. There are no types in a lint plugin: a date is `new Date(...)`, or a name that stands for one
 * anywhere in the file.
 */
export const noLocalDate: Deno.lint.Rule = {
  create(context) {
    if (!isCore(context.filename)) return {};
    const dates = new Set<string>();
    const asText: { readonly node: Deno.lint.Node; readonly value: Deno.lint.Node }[] = [];
    const isNewDate = (node: Deno.lint.Node | null): boolean =>
      node?.type === "NewExpression" && node.callee.type === "Identifier" &&
      node.callee.name === "Date";
    const isDate = (node: Deno.lint.Node): boolean =>
      isNewDate(node) || node.type === "Identifier" && dates.has(node.name);

    return {
      VariableDeclarator(node) {
        if (node.id.type === "Identifier" && isNewDate(node.init)) dates.add(node.id.name);
      },
      NewExpression(node) {
        const { callee } = node;
        const text = context.sourceCode.getText(node);
        if (isNewDate(node) && node.arguments.length > 1) {
          context.report({ node, message: message("new Date(year, month, ...)") });
        }
        const isFormat = callee.type === "MemberExpression" &&
          callee.property.type === "Identifier" && callee.property.name === "DateTimeFormat";
        if (isFormat && !text.includes("timeZone")) {
          context.report({ node, message: message("a DateTimeFormat without timeZone") });
        }
      },
      CallExpression(node) {
        const [first] = node.arguments;
        const isString = node.callee.type === "Identifier" && node.callee.name === "String";
        if (isString && first !== undefined) asText.push({ node, value: first });
      },
      TemplateLiteral(node) {
        for (const value of node.expressions) asText.push({ node, value });
      },
      BinaryExpression(node) {
        if (node.operator !== "+") return;
        asText.push({ node, value: node.left }, { node, value: node.right });
      },
      MemberExpression(node) {
        if (node.property.type !== "Identifier" || node.property.name !== "toString") return;
        asText.push({ node, value: node.object });
      },
      "Program:exit"() {
        for (const { node, value } of asText) {
          if (isDate(value)) context.report({ node, message: message("a date as text") });
        }
      },
    };
  },
};
