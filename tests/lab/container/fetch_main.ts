/**
 * Makes one HTTP request and prints `{"status", "body"}` as JSON. For a test that runs outside the
 * network that it asks in; arguments: method, URL, body (may be empty).
 */
const [method, url, body] = Deno.args;
if (method === undefined || url === undefined) throw new Error("usage: METHOD URL [BODY]");
const response = await fetch(url, {
  method,
  ...(body === undefined || body === ""
    ? {}
    : { body, headers: { "Content-Type": "application/json" } }),
});
const answer = JSON.stringify({ status: response.status, body: await response.text() });
await Deno.stdout.write(new TextEncoder().encode(`${answer}\n`));
