import { generate } from "selfsigned";

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const EC = { keyType: "ec", curve: "P-256", algorithm: "sha256" } as const;

/** A certificate authority. */
export async function makeAuthority(name: string): Promise<Certificate> {
  const made = await generate([{ name: "commonName", value: name }], {
    ...EC,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A server's certificate for 127.0.0.1 and localhost, signed by `authority`. */
export async function makeServerCertificate(authority: Certificate): Promise<Certificate> {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    ...EC,
    ca: authority,
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [{ type: 7, ip: "127.0.0.1" }, { type: 2, value: "localhost" }],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A client's certificate: Kubernetes takes the user from the common name, the group from `group`. */
export async function makeClientCertificate(
  authority: Certificate,
  user: string,
  group: string,
): Promise<Certificate> {
  const made = await generate([
    { name: "organizationName", value: group },
    { name: "commonName", value: user },
  ], {
    ...EC,
    ca: authority,
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", clientAuth: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A bare key pair, PEM, for tokens of service accounts. */
export async function makeKeyPair(): Promise<
  { readonly public: string; readonly private: string }
> {
  const made = await generate([{ name: "commonName", value: "service-accounts" }], EC);
  return { public: made.public, private: made.private };
}
