import { generate } from "selfsigned";

/** What a server shows, and the authority that a client has to trust; all in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** For an agent's `ca_file`. */
  readonly ca: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A certificate for 127.0.0.1 and localhost by an authority of its own, valid from a day before `now` for
 * thirty days. `now` is the real time: clients judge it by their clock, not by the portal's. Nobody keeps
 * the authority's key.
 */
export async function makeCertificate(now: number): Promise<Certificate> {
  const common = {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + 30 * DAY_MS),
  } as const;
  const authority = await generate([{ name: "commonName", value: "pbx fake portal authority" }], {
    ...common,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: "commonName", value: "pbx fake portal" }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
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
  return { cert: server.cert, key: server.private, ca: authority.cert };
}
