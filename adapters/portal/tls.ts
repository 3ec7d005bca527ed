import { generate } from "selfsigned";

/** A certificate and its key in PEM. */
export interface Certificate {
  /** What the server shows, and what a client has to trust (an agent's `ca_file`). */
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A certificate for 127.0.0.1 and localhost, signed by itself, valid from a day before `now` for thirty
 * days. It says that it is no authority: clients refuse one that shows itself as a server. `now` is the
 * real time: they judge it by their clock, not by the portal's.
 */
export async function makeCertificate(now: number): Promise<Certificate> {
  const made = await generate([{ name: "commonName", value: "pbx fake portal" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + 30 * DAY_MS),
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
