import assert from "node:assert/strict";
import { portalBase } from "../../../core/state/portal_url.ts";

Deno.test("portalBase: a domain, or a full base URL as it is", () => {
  const table: [string, string][] = [
    ["example.com", "https://agents.example.com/agent/v1"],
    ["EXAMPLE.com", "https://agents.example.com/agent/v1"],
    ["portal", "https://agents.portal/agent/v1"],
    ["xn--bcher-kva.example", "https://agents.xn--bcher-kva.example/agent/v1"],
    ["https://agents.example.com/agent/v1", "https://agents.example.com/agent/v1"],
    ["https://agents.example.com/agent/v1/", "https://agents.example.com/agent/v1"],
    ["https://example.com/a/b/v1", "https://example.com/a/b/v1"],
    ["https://example.com", "https://example.com"],
    ["https://example.com:8443/x", "https://example.com:8443/x"],
    ["https://10.0.0.1/agent/v1", "https://10.0.0.1/agent/v1"],
    ["http://127.0.0.1:8080/agent/v1", "http://127.0.0.1:8080/agent/v1"],
    ["http://127.9.8.7/x", "http://127.9.8.7/x"],
    ["http://localhost:1/agent/v1", "http://localhost:1/agent/v1"],
    ["http://[::1]:1/agent/v1", "http://[::1]:1/agent/v1"],
  ];
  for (const [portal, base] of table) {
    assert.deepEqual(portalBase(portal), { ok: true, value: base }, portal);
  }
});

Deno.test("portalBase: everything else is a configuration error", () => {
  const table: [string, RegExp][] = [
    ["", /neither a domain nor a URL/],
    ["exa mple.com", /neither/],
    ["-example.com", /neither/],
    ["example..com", /neither/],
    ["example.com/agent", /neither/],
    ["example.com:8443", /neither/],
    ["10.0.0.1", /neither/],
    ["agents.256", /neither/],
    ["ftp://example.com", /neither/],
    ["https://", /neither/],
    ["https://exa mple.com/", /neither/],
    ["file:///etc/passwd", /neither/],
    ["http://example.com/agent/v1", /plain http/],
    ["http://10.0.0.1/agent/v1", /plain http/],
    ["http://127.0.0.1.example.com/", /plain http/],
    ["http://localhost.example.com/", /plain http/],
    ["http://128.0.0.1/", /plain http/],
    ["https://user:pass@example.com/", /no user/],
    ["https://user@example.com/", /no user/],
    ["https://example.com/?a=1", /no user, query/],
    ["https://example.com/#a", /no user, query or fragment/],
    [`${"a".repeat(64)}.example.com`, /neither/],
  ];
  for (const [portal, message] of table) {
    const base = portalBase(portal);
    assert.match(base.ok ? `taken as ${base.value}` : base.error, message, portal);
  }
  const secret = portalBase("https://user:hunter2@example.com/");
  assert.ok(!secret.ok && !secret.error.includes("hunter2"));
});
