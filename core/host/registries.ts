import { Document, isScalar, Scalar, visit } from "yaml";
import { type Registries, SEALED_CREDENTIALS } from "../protocol/registries.ts";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { escapedForYaml } from "../yaml_text.ts";
import { type DropIn, HEADER } from "./drop_ins.ts";

/** Where k3s reads mirrors and credentials of registries, once, when it starts. */
export const REGISTRIES_PATH = "/etc/rancher/k3s/registries.yaml";

/** The members that every such file has; every other key is the name of a registry. */
const MEMBERS: readonly string[] = [
  "mirrors",
  "configs",
  "endpoint",
  "auth",
  "username",
  ...SEALED_CREDENTIALS,
];

/** Opens a sealed box that was judged when it arrived. */
export type OpenBox = (box: string) => Result<Secret, { readonly message: string }>;

/**
 * The file that carries out `host.registries`. The same registries give the same bytes. Names of registries
 * and texts are quoted, so that no reader of YAML 1.1, as k3s is one, takes them for anything else. The
 * error is for people.
 */
export function registriesFile(
  { mirrors, configs }: Registries,
  open: OpenBox,
): Result<Secret<DropIn>, string> {
  const opened: Record<string, { readonly auth: Record<string, string> }> = {};
  for (const host of sorted(configs)) {
    const { username, ...boxes } = configs?.[host] ?? {};
    const auth: Record<string, string> = username === undefined ? {} : { username };
    for (const name of SEALED_CREDENTIALS) {
      const box = boxes[name];
      if (box === undefined) continue;
      const secret = open(box.sealed);
      if (!secret.ok) {
        return fail(`host.registries.configs.${host}.${name}: ${secret.error.message}`);
      }
      auth[name] = secret.value.reveal();
    }
    opened[host] = { auth };
  }
  const mirrored = sorted(mirrors).map((host) => [host, mirrors?.[host]]);
  const content = yamlOf({
    ...(mirrors === undefined ? {} : { mirrors: Object.fromEntries(mirrored) }),
    ...(configs === undefined ? {} : { configs: opened }),
  });
  return ok(new Secret({ path: REGISTRIES_PATH, content }));
}

/** The order of their names: another order of the same registries is no change that k3s restarts for. */
function sorted(registries: object | undefined): readonly string[] {
  return Object.keys(registries ?? {}).sort();
}

function yamlOf(content: object): string {
  const document = new Document(content, { version: "1.1", aliasDuplicateObjects: false });
  document.commentBefore = HEADER;
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && !MEMBERS.includes(String(key.value))) key.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return escapedForYaml(document.toString({
    lineWidth: 0,
    defaultKeyType: "PLAIN",
    defaultStringType: "QUOTE_DOUBLE",
    doubleQuotedAsJSON: true,
  }));
}

/** What there is to do about the file. `keep`: it is a person's, and stays although another one is wanted. */
export type RegistriesDeed = "nothing" | "write" | "remove" | "keep";

/** What the decision about the file rests on. */
export interface RegistriesFacts {
  /** The content that it has to have; null where the desired state has no registries. */
  readonly wanted: string | null;
  /** The content that it has; null where there is no file. */
  readonly found: string | null;
  /** k3s was last started with a file of the agent: what is there now is that one, changed by hand. */
  readonly wasOwn: boolean;
}

/**
 * What there is to do about registries.yaml. k3s has only this one, so it may have been a person's before:
 * that one is neither written over nor removed. Changes to the agent's own are undone, as in drop-ins.
 */
export function registriesDeed({ wanted, found, wasOwn }: RegistriesFacts): RegistriesDeed {
  const isOwn = found !== null && isOwnRegistries(found);
  if (wanted === null) return isOwn ? "remove" : "nothing";
  if (found === wanted) return "nothing";
  return found === null || isOwn || wasOwn ? "write" : "keep";
}

const MARK = `#${HEADER.slice(0, HEADER.indexOf(".") + 1)}`;

/** Whether the agent wrote this file: a person's own has no such first line. */
export function isOwnRegistries(text: string): boolean {
  return text.startsWith(MARK);
}
