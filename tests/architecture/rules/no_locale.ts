/// <reference lib="deno.unstable" />
import { LOCALE_METHODS } from "./globals.ts";
import { isCore } from "./room.ts";

/**
 * Core gives the same answer on every machine: it uses no method that reads the machine's time
 * zone or language. Zones are named (`Intl.DateTimeFormat` with `timeZone`), text is compared by
 * code unit.
 */
export const noLocale: Deno.lint.Rule = {
  create(context) {
    if (!isCore(context.filename)) return {};
    return {
      MemberExpression(node) {
        if (node.property.type !== "Identifier" || !LOCALE_METHODS.has(node.property.name)) return;
        const message = `core does not call ${node.property.name}: it depends on the machine's ` +
          "time zone or language; name the zone, use the UTC method, compare by code unit";
        context.report({ node: node.property, message });
      },
    };
  },
};
