import assert from "node:assert/strict";
import type { EtcdMember, Servers } from "../../core/ports/servers.ts";
import { Secret } from "../../core/secret.ts";

/** How a k3s server answers to `/cacerts`. `nobody`: no server is there. */
export type AuthorityScript =
  | { readonly kind: "file"; readonly bytes: Uint8Array }
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "too_large" | "cut" | "nobody" };

/** An adapter, and the servers that it reaches. */
export interface ServersWorld {
  readonly servers: Servers;
  /** The URL of a server that answers so until `answer` says otherwise. */
  url(script: AuthorityScript): Promise<string>;
  /** What the server of the last URL answers from now on. */
  answer(script: AuthorityScript): void;
  /** This node's own server is the one of the last URL; without a call it has none. */
  own(): void;
  close(): Promise<void>;
}

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
/** As they are on the disk of a server: two authorities, bytes that are not UTF-8, none at all. */
const FILES: readonly (readonly [string, Uint8Array])[] = [
  ["one authority", new TextEncoder().encode(PEM)],
  ["two authorities", new TextEncoder().encode(`${PEM}${PEM}`)],
  ["bytes that are not a text", new Uint8Array([0xff, 0, 0x0d, 0x0a, 0xc3, 0x28])],
  ["nothing", new Uint8Array()],
  ["a quarter of a MiB", new Uint8Array(256 * 1024).fill(0x41)],
];
const FAULTS: readonly (readonly [string, AuthorityScript])[] = [
  ["nobody there", { kind: "nobody" }],
  ["a 404", { kind: "status", status: 404 }],
  ["a redirect", { kind: "status", status: 302 }],
  ["a 500", { kind: "status", status: 500 }],
  ["an empty 204", { kind: "status", status: 204 }],
  ["more than a quarter of a MiB", { kind: "too_large" }],
  ["an answer that is cut", { kind: "cut" }],
];

/** What every {@link Servers} does. */
export function serversContract(name: string, open: () => Promise<ServersWorld>): void {
  const test = (what: string, run: (world: ServersWorld) => Promise<void>) =>
    Deno.test({
      name: `servers (${name}): ${what}`,
      async fn() {
        const world = await open();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      },
      // Listeners of Node.js leave handles behind that nothing waits for.
      sanitizeOps: false,
      sanitizeResources: false,
    });

  for (const [what, bytes] of FILES) {
    test(`authority gives the file as it is served: ${what}`, async ({ servers, url }) => {
      const served = await servers.authority(await url({ kind: "file", bytes }));
      assert.deepEqual(served, { ok: true, value: bytes });
    });
  }

  for (const [what, script] of FAULTS) {
    test(`authority: ${what} is unreachable, and names the server`, async ({ servers, url }) => {
      const server = await url(script);
      const served = await servers.authority(server);
      assert.ok(!served.ok);
      assert.equal(served.error.code, "unreachable");
      assert.ok(served.error.message.includes(new URL(server).host), served.error.message);
    });
  }

  test("authority keeps nothing: each call asks the server", async ({ servers, url, answer }) => {
    const server = await url({ kind: "status", status: 503 });
    assert.equal((await servers.authority(server)).ok, false);
    for (const byte of [1, 2]) {
      answer({ kind: "file", bytes: new Uint8Array([byte]) });
      assert.deepEqual(await servers.authority(server), {
        ok: true,
        value: new Uint8Array([byte]),
      });
    }
  });

  test("authority of this node's own server", async ({ servers, url, own }) => {
    const missing = await servers.authority(null);
    assert.equal(missing.ok ? "" : missing.error.code, "missing");
    await url({ kind: "file", bytes: new Uint8Array([7]) });
    own();
    assert.deepEqual(await servers.authority(null), { ok: true, value: new Uint8Array([7]) });
  });

  test("where nobody is, nothing is shown, healthy or taken out", async ({ servers, url }) => {
    const server = await url({ kind: "nobody" });
    const token = new Secret("K10abc::server:the-password");
    const view = await servers.look(server, token);
    assert.ok(!view.ok && ["unreachable", "missing"].includes(view.error.code));
    assert.ok(!view.error.message.includes("the-password"));
    const member: EtcdMember = {
      id: "17",
      name: "demo-2-a",
      clientUrls: [server],
      isLearner: false,
    };
    assert.equal(await servers.isHealthy(member), false);
    const removed = await servers.removeMember(member, { ...member, id: "18" });
    assert.ok(!removed.ok && ["unreachable", "missing"].includes(removed.error.code));
  });
}
