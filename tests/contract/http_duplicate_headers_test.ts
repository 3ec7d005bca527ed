import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";
import { createFleetHttp } from "../../simulate/fleet/http.ts";
import { startRawPeer, writeText } from "./raw_peer.ts";

const ANSWER = [
  "HTTP/1.1 200 OK",
  "Content-Length: 2",
  "Connection: close",
  "Signature: pbx=:AAAA:",
  "signature: pbx=:BBBB:",
  "",
  "{}",
].join("\r\n");

for (const [name, create] of Object.entries({ node: createNodeHttp, fleet: createFleetHttp })) {
  Deno.test(`http (${name}): a header that came twice is seen as such`, async () => {
    const peer = startRawPeer((connection) => writeText(connection, ANSWER));
    const http = create({ version: "1.2.3", clock: createNodeClock() });
    const answer = await http.request({
      method: "GET",
      url: `http://127.0.0.1:${peer.port}/`,
      headers: {},
      totalMs: 20_000,
      connectMs: 10_000,
      maxBytes: 1_000,
    });
    assert.ok(answer.ok);
    assert.equal(answer.value.headers["signature"], "pbx=:AAAA:, pbx=:BBBB:");
    http.close();
    await peer.close();
  });
}
