/**
 * Asks a Kubernetes API for Secrets with a client that the agent has no part in, and prints their
 * decoded data by name as JSON. Arguments: namespace, names; the API comes from KUBECONFIG.
 */
import { K8s, kind } from "kubernetes-fluent-client";

const [namespace, ...names] = Deno.args;
if (namespace === undefined) throw new Error("usage: NAMESPACE NAME...");
const found: Record<string, Record<string, string>> = {};
for (const name of names) {
  const secret = await K8s(kind.Secret).InNamespace(namespace).Get(name);
  const entries = Object.entries(secret.data ?? {}).map(([key, value]) => [key, atob(value)]);
  found[name] = Object.fromEntries(entries);
}
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(found)}\n`));
// The client keeps connections open that would hold the program.
Deno.exit(0);
