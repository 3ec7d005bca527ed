import assert from "node:assert/strict";
import {
  type Certificate,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../lab/certificates.ts";

/** The certificates of a stand-in for a k3s server. */
export interface K3sCertificates {
  readonly authority: Certificate;
  readonly server: Certificate;
  /** An administrator's. */
  readonly client: Certificate;
}

/** Makes them once for all tests of a file, which is slow; gives what hands them out. */
export function makeK3sCertificates(): () => K3sCertificates {
  let made: K3sCertificates | null = null;
  Deno.test.beforeAll(async () => {
    const authority = await makeAuthority("k3s-server-ca");
    const server = await makeServerCertificate(authority);
    const client = await makeClientCertificate(authority, "admin", "system:masters");
    made = { authority, server, client };
  });
  return () => {
    assert.ok(made !== null);
    return made;
  };
}
