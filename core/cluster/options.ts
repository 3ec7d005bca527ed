import type { JsonObject, JsonValue } from "../json.ts";
import type { AddonSetting } from "../protocol/desired_state.ts";
import { brokenLimit, type LimitedOption } from "../protocol/option_limits.ts";
import { type Work, workOfOptions } from "../protocol/pattern/pattern.ts";
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
  const work = workOfOptions();
  for (const [name, declaration] of declared) {
    const value = given.has(name) ? given.get(name) : declaration.default as JsonValue | undefined;
    const fault = declaration.secret === true
      ? secretFault(name, declaration, given.has(name), sealed.has(name))
      : plainFault(name, declaration, value, { isSealed: sealed.has(name), work });
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
  declaration: OptionDeclaration,
  value: JsonValue | undefined,
  { isSealed, work }: { readonly isSealed: boolean; readonly work: Work },
): string | null {
  const { type, required } = declaration;
  if (isSealed) return `option ${name} is not secret and must be in options`;
  if (value === undefined) return required === true ? `option ${name} is required` : null;
  if (typeOf(value) !== type) return `option ${name} must be of type ${type}`;
  // Judged before the desired state was accepted, but perhaps by a version that knew no limits.
  const broken = brokenLimit(declaration as LimitedOption, value, work);
  return broken === null ? null : `option ${name} breaks the limit ${broken.limit.slice(0, 120)}`;
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
