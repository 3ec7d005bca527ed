import assert from "node:assert/strict";
import { addressOf } from "../../adapters/node/s3/address.ts";
import type { Bucket } from "../../core/ports/s3.ts";
import { Secret } from "../../core/secret.ts";

function bucket(changes: Partial<Bucket> = {}): Bucket {
  return {
    endpoint: "s3.example.com",
    bucket: "snapshots",
    region: "eu-1",
    accessKey: new Secret("key"),
    secretKey: new Secret("secret"),
    ...changes,
  };
}

function url(changes: Partial<Bucket> = {}, key = "", query = {}): string | undefined {
  const address = addressOf(bucket(changes), key, query);
  return address.ok ? address.value.href : undefined;
}

Deno.test("addressOf: the bucket's name goes into the path or the host, as the lookup says", () => {
  assert.equal(url({ lookup: "path" }, "k"), "https://s3.example.com/snapshots/k");
  assert.equal(url({ lookup: "dns" }, "k"), "https://snapshots.s3.example.com/k");
  assert.equal(url({}, "k"), "https://s3.example.com/snapshots/k");
  assert.equal(url({ endpoint: "127.0.0.1:9000" }, "k"), "https://127.0.0.1:9000/snapshots/k");
  assert.equal(
    url({ endpoint: "http://[::1]:9000/" }, "k"),
    "http://[::1]:9000/snapshots/k",
  );
});

Deno.test("addressOf: auto does as k3s does at the clouds that want the name in the host", () => {
  const regional = "s3.eu-central-1.amazonaws.com";
  assert.equal(url({ endpoint: regional }, "k"), `https://snapshots.${regional}/k`);
  assert.equal(url({ endpoint: regional, bucket: "a.b" }, "k"), `https://${regional}/a.b/k`);
  assert.equal(
    url({ endpoint: "storage.googleapis.com" }),
    "https://snapshots.storage.googleapis.com/",
  );
  const imitation = "s3.amazonaws.com.example.com";
  assert.equal(url({ endpoint: imitation }), `https://${imitation}/snapshots/`);
});

Deno.test("addressOf: Amazon's global endpoint becomes the region's", () => {
  assert.equal(
    url({ endpoint: "s3.amazonaws.com", region: "eu-central-1" }, "k"),
    "https://snapshots.s3.eu-central-1.amazonaws.com/k",
  );
});

Deno.test("addressOf: keys and queries are encoded as they are signed", () => {
  assert.equal(
    url({}, "a/b c+d&e=f?g#h%!'()*~ö", { prefix: "x y/+", "list-type": "2" }),
    "https://s3.example.com/snapshots/a/b%20c%2Bd%26e%3Df%3Fg%23h%25%21%27%28%29%2A~%C3%B6" +
      "?list-type=2&prefix=x%20y%2F%2B",
  );
  assert.equal(url({}, "a//b/"), "https://s3.example.com/snapshots/a//b/");
});

Deno.test("addressOf: refuses keys that a URL would make another object of", () => {
  for (const key of ["..", "a/../b", "./a", "a/.", "../other-bucket/k"]) {
    assert.equal(url({}, key), undefined, key);
    assert.equal(url({ lookup: "dns" }, key), undefined, key);
  }
});

Deno.test("addressOf: refuses settings that reach another place than they say", () => {
  const refused: readonly Partial<Bucket>[] = [
    { endpoint: "" },
    { endpoint: "http://s3.example.com" },
    { endpoint: "ftp://s3.example.com" },
    { endpoint: "s3.example.com/path" },
    { endpoint: "https://user:pass@s3.example.com" },
    { endpoint: "s3.example.com?x" },
    { endpoint: "s3 example" },
    { bucket: "" },
    { bucket: ".." },
    { bucket: "a/b" },
    { bucket: "a@evil.example", lookup: "dns" },
    { region: "eu/1" },
    { region: "" },
    { region: "x.evil.example/", endpoint: "s3.amazonaws.com" },
  ];
  for (const changes of refused) assert.equal(url(changes), undefined, JSON.stringify(changes));
});
