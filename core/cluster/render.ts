import type { JsonObject, JsonValue } from "../json.ts";
import type { AddonSetting } from "../protocol/desired_state.ts";
import { scanJson } from "../protocol/json_scan.ts";
import type { AddonTemplate } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { type AllowedObject, allowObject } from "./allowed_object.ts";
import { addonSecret } from "./secrets.ts";
import { resolveOptions } from "./options.ts";
import { platformApiOf } from "./platform_api.ts";
import { type Budget, createBudget, TemplateFault, TooMuchWork } from "./template/budget.ts";
import { renderTemplate } from "./template/render_template.ts";

/** What a template may know of the world around its add-on. Nothing of it is secret. */
export interface RenderWorld {
  readonly clusterId: string;
  readonly nodeName: string;
  /** Of the release: the only moment that a template may know, so that the same input gives the same. */
  readonly releasedAt: string;
}

/** Most objects of one add-on, and most bytes of them all together. */
const MAX_OBJECTS = 100;
const MAX_BYTES = 256 * 1024;

/**
 * Steps that one add-on's template may take (a part of it, of an expression or of a list, or 16 characters):
 * a chart with all its values takes some hundred, and as many as are allowed take some hundredths of a
 * second.
 */
const MAX_STEPS = 100_000;

/** Steps of all templates of a release together, which are rendered one after the other without a pause. */
const MAX_STEPS_OF_ALL = 1_000_000;

/** The work that the templates of a release may make together. */
export function budgetOfAll(): Budget {
  return createBudget(MAX_STEPS_OF_ALL);
}

/**
 * The objects of an add-on that is on (operations.md, Add-ons): rendered from the verified template with
 * the options alone, each judged, and the Secret that the agent makes itself. `secrets`: the opened
 * secret options by name; they reach nothing but that Secret. `all`: what is left for all add-ons.
 */
export function renderAddon(
  setting: AddonSetting,
  template: AddonTemplate,
  world: RenderWorld,
  secrets: ReadonlyMap<string, Secret>,
  all: Budget = budgetOfAll(),
): Result<readonly AllowedObject[], string> {
  const options = resolveOptions(setting, template);
  if (!options.ok) return options;
  const rendered = evaluate(template.objects as JsonValue, options.value, world, all);
  if (!rendered.ok) return rendered;
  const list = rendered.value;
  if (!Array.isArray(list)) return fail("the template made no list of objects");
  if (list.length > MAX_OBJECTS) return fail(`the template made more than ${MAX_OBJECTS} objects`);

  const owner = {
    addon: setting.name,
    clusterId: world.clusterId,
    platformApi: platformApiOf(template),
  };
  const objects: AllowedObject[] = [];
  const secret = secretOf(setting.name, template, secrets);
  if (!secret.ok) return secret;
  // First: charts read it when they are installed.
  if (secret.value !== null) objects.push(secret.value);
  const names = new Set<string>();
  for (const item of list) {
    const allowed = allowObject(item, owner);
    if (!allowed.ok) return allowed;
    const { resource, name } = allowed.value.ref;
    if (names.has(`${resource}/${name}`)) {
      return fail(`the template made ${resource}/${name} twice`);
    }
    names.add(`${resource}/${name}`);
    objects.push(allowed.value);
  }
  return ok(objects);
}

/** JSON-e works on values, so that an option can never break out into structure. */
function evaluate(
  template: JsonValue,
  options: JsonObject,
  { clusterId, nodeName, releasedAt }: RenderWorld,
  all: Budget,
): Result<JsonValue, string> {
  const context = {
    options,
    // The cluster's ID is its name (protocol §8).
    cluster: { id: clusterId, name: clusterId },
    node: { name: nodeName },
    now: releasedAt,
  };
  try {
    const text = renderTemplate(template, context, createBudget(MAX_STEPS, all));
    if (new TextEncoder().encode(text).length > MAX_BYTES) {
      return fail(`the template made more than ${MAX_BYTES} bytes`);
    }
    // Options are exact; what a template reckons from them or cuts out of them may not be.
    const [unfit] = scanJson(text, SCAN).unfit;
    if (unfit !== undefined) return fail(`the template's ${unfit.message}`);
    // Once through JSON: nothing but plain values leaves the template, and no part of it is shared.
    return ok(JSON.parse(text));
  } catch (cause) {
    if (cause instanceof TooMuchWork) {
      return fail(
        `the template takes too much work: ${cause.message}; the loops in it have to become smaller`,
      );
    }
    return fail(`the template does not render: ${faultOf(cause)}`);
  }
}

/** Nothing of a rendered text is a breach: its depth is that of the template and of the options. */
const SCAN = { maxDepth: Infinity, forbiddenKeys: new Set<string>() };

/** Its kind and its place; no value that it stumbled over. */
function faultOf(cause: unknown): string {
  if (cause instanceof TemplateFault) {
    const place = cause.path.toReversed().join("").slice(0, 200);
    return `error at ${place === "" ? "the root" : place}: ${cause.message}`;
  }
  return cause instanceof Error ? cause.name : "an error";
}

function secretOf(
  addon: string,
  template: AddonTemplate,
  secrets: ReadonlyMap<string, Secret>,
): Result<AllowedObject | null, string> {
  const entries = Object.entries(template.secret_data ?? {});
  const data = new Map<string, Secret>();
  for (const [key, option] of entries) {
    const declared = Object.hasOwn(template.options, option) ? template.options[option] : undefined;
    if (declared?.secret !== true) {
      return fail(
        `the template takes ${key} of its Secret from ${option}, which is no secret option`,
      );
    }
    const value = secrets.get(option);
    if (value !== undefined) data.set(key, value);
  }
  return ok(entries.length === 0 ? null : addonSecret(addon, data));
}
