import { Document } from "yaml";
import { encodeBase64 } from "../../protocol/base64.ts";
import { Secret } from "../../secret.ts";

/** What a kubeconfig is made of. */
export interface KubeconfigParts {
  readonly cluster: string;
  /** https URL of the API as it is reached from outside. */
  readonly server: string;
  /** The cluster's certificate authority, PEM. */
  readonly caPem: string;
  readonly token: Secret;
  readonly namespace?: string;
}

/** A kubeconfig for one cluster and one token: the whole of it is a secret. */
export function kubeconfig(parts: KubeconfigParts): Secret {
  const { cluster, server, caPem, token, namespace } = parts;
  const document = new Document({
    apiVersion: "v1",
    kind: "Config",
    "current-context": cluster,
    clusters: [{
      name: cluster,
      cluster: {
        server,
        "certificate-authority-data": encodeBase64(new TextEncoder().encode(caPem)),
      },
    }],
    users: [{ name: cluster, user: { token: token.reveal() } }],
    contexts: [{
      name: cluster,
      context: { cluster, user: cluster, ...(namespace === undefined ? {} : { namespace }) },
    }],
  });
  return new Secret(document.toString({ lineWidth: 0 }));
}
