import { Document, isScalar, Scalar, visit } from "yaml";
import type { JsonObject } from "../json.ts";
import { Secret } from "../secret.ts";
import { escapedForYaml } from "../yaml_text.ts";

/** Where k3s reads its configuration. Mode 0600: the file holds the cluster's token. */
export const K3S_CONFIG_PATH = "/etc/rancher/k3s/config.yaml";

/** Keys that are plain words in every version of YAML, as all names of k3s's flags are. */
const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9._-]*\+?$/;

/** The keys that this file adds; with a plus sign k3s would join its value to the one given here. */
const TOKEN_KEY = /^(?:agent-)?token\+?$/;

/**
 * The content of k3s's config.yaml: the keys of `config` in their order, then the token or tokens.
 *
 * k3s reads YAML 1.1, in which `0600` is 384 and `on` is true. Therefore every string value is quoted and
 * every key that is not plainly a word, and no reader of any version can take one for something else.
 *
 * @throws Error when `config` itself has a token: it was refused as a secret in clear (protocol §2) before
 * it could come here.
 */
export function k3sConfig(
  config: JsonObject,
  token: Secret<string>,
  agentToken?: Secret<string>,
): Secret<string> {
  const clear = Object.keys(config).find((key) => TOKEN_KEY.test(key));
  if (clear !== undefined) {
    throw new Error(
      `k3s.config has the key ${clear}: a token goes in k3s.token or k3s.agent_token, sealed`,
    );
  }
  const document = new Document(
    {
      ...config,
      token: token.reveal(),
      ...(agentToken === undefined ? {} : { "agent-token": agentToken.reveal() }),
    },
    { version: "1.1", aliasDuplicateObjects: false },
  );
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && !PLAIN_KEY.test(String(key.value))) key.type = Scalar.QUOTE_DOUBLE;
    },
  });
  const yaml = document.toString({
    defaultKeyType: "PLAIN",
    defaultStringType: "QUOTE_DOUBLE",
    doubleQuotedAsJSON: true,
  });
  return new Secret(escapedForYaml(yaml));
}
