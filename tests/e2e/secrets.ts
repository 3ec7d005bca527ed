import { plainSecrets } from "../../adapters/portal/seal_document.ts";
import type { World } from "./world.ts";

/** Every secret of the world: the cluster's, the token, and the agent's private keys once it has some. */
export async function secretsOf(world: World): Promise<readonly string[]> {
  const { clusters } = world.running.portal.state;
  const documents = [...clusters.values()].flatMap(({ bootstrap, desired }) => [
    bootstrap,
    desired.document,
  ]);
  const identity = await world.read("/var/lib/pbx-agent/identity.json").catch(() => null);
  const keys = identity === null ? [] : [...identity.matchAll(/"(?:signing|sealing)": "([^"]+)"/g)]
    .map((match) => match[1] ?? "");
  return [...plainSecrets(documents), world.token, ...keys];
}

/** The secrets that a text holds, as they are, in base64 or in hex. */
export function secretsIn(text: string, secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => formsOf(secret).some((form) => text.includes(form)));
}

function formsOf(secret: string): string[] {
  const encoded = btoa(secret).replace(/=+$/, "");
  const forms = [secret, encoded.slice(0, -1)];
  try {
    const bytes = Uint8Array.from(atob(secret), (char) => char.charCodeAt(0));
    forms.push([...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  } catch {
    // Not every secret is base64.
  }
  return forms;
}
