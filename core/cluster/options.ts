import type { JsonObject, JsonValue } from "../json.ts";
import type { AddonSetting } from "../protocol/desired_state.ts";
import type { AddonTemplate, OptionDeclaration } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";

/**
 * An add-on's options as its template may see them: checked against their declarations, defaults filled
 * in, secret ones left out. The error names the option and never its value.
 */
export function resolveOptions(
  setting: AddonSetting,
  template: AddonTemplate,
): Result<JsonObject, string> {
  const given = new Map<string, JsonValue>(Object.entries(setting.options));
  const sealed = new Set(Object.keys(setting.secret_options ?? {}));
  const declared = new Map(Object.entries(template.options));
  for (const name of [...given.keys(), ...sealed].sort()) {
    if (!declared.has(name)) return fail(`option ${name} is not known to this add-on`);
  }
  const values = new Map<string, JsonValue>();
  for (const [name, declaration] of declared) {
    const value = given.has(name) ? given.get(name) : declaration.default as JsonValue | undefined;
    const fault = declaration.secret === true
      ? secretFault(name, declaration, given.has(name), sealed.has(name))
      : plainFault(name, declaration, value, sealed.has(name));
    if (fault !== null) return fail(fault);
    if (declaration.secret !== true && value !== undefined) values.set(name, value);
  }
  return ok(Object.fromEntries(values));
}

function secretFault(
  name: string,
  { required }: OptionDeclaration,
  inClear: boolean,
  sealed: boolean,
): string | null {
  if (inClear) return `option ${name} is secret and must be in secret_options, sealed`;
  return required === true && !sealed ? `the secret option ${name} is required` : null;
}

function plainFault(
  name: string,
  { type, required }: OptionDeclaration,
  value: JsonValue | undefined,
  sealed: boolean,
): string | null {
  if (sealed) return `option ${name} is not secret and must be in options`;
  if (value === undefined) return required === true ? `option ${name} is required` : null;
  return typeOf(value) === type ? null : `option ${name} must be of type ${type}`;
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
