import assert from "node:assert/strict";
import fc from "fast-check";
import { parseListing } from "../../adapters/node/s3/listing.ts";
import { parseXml, textOf } from "../../adapters/node/s3/xml.ts";

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';

Deno.test("parseXml: reads elements, text, attributes, comments and entities", () => {
  const root = parseXml(
    `${HEAD}<!-- one -->\n<a xmlns="http://x/" x:y='"'><b/><s:c t = "1">1 &lt; &#50;&#x20;&amp;&quot;&apos;</s:c></a>\n`,
  );
  assert.equal(root?.name, "a");
  assert.deepEqual(root.children.map(({ name }) => name), ["b", "c"]);
  assert.equal(textOf(root, "b"), "");
  assert.equal(textOf(root, "c"), "1 < 2 &\"'");
  assert.equal(textOf(root, "d"), undefined);
});

Deno.test("parseXml: refuses what is not whole, not XML, or may hold more than it shows", () => {
  const refused = [
    "",
    "text",
    "<a>",
    "<a></b>",
    "</a>",
    "<a/><b/>",
    "<a/>text",
    "<a></a></a>",
    "<a><b></a></b>",
    "<a b=c/>",
    "<a>&unknown;</a>",
    "<a>& </a>",
    "<a>&#x110000;</a>",
    "<a>&#xd800;</a>",
    "<a><![CDATA[x]]></a>",
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
    "<a>".repeat(17) + "</a>".repeat(17),
    "<html><p>no end<br></html>",
  ];
  for (const document of refused) assert.equal(parseXml(document), null, document);
});

Deno.test("parseXml: gives back any text that was escaped", () => {
  const escaped = (text: string) =>
    text.replaceAll(/[^ -~]|[<&>]/gu, (character) => `&#${character.codePointAt(0)};`);
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const root = parseXml(`<a><b>${escaped(text.toWellFormed())}</b></a>`);
    assert.ok(root !== null);
    assert.equal(textOf(root, "b"), text.toWellFormed());
  }));
});

Deno.test("parseXml: takes time in proportion to the document, whatever is in it", () => {
  const long = 1_000_000;
  for (const piece of ["<", "<a ", "<a b='", "<!--", "&", "<a b='1' ", "a"]) {
    parseXml(`<a>${piece.repeat(long / piece.length)}`);
  }
});

/** A page of one object, with changes. */
function page(changes: Readonly<Record<string, string>> = {}, more = ""): string {
  const fields = {
    Key: "a/b",
    LastModified: "2026-01-02T03:04:05.678Z",
    ETag: "&quot;abc&quot;",
    Size: "7",
    StorageClass: "STANDARD",
    ...changes,
  };
  const contents = Object.entries(fields).map(([name, text]) => `<${name}>${text}</${name}>`);
  return `${HEAD}<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${more}` +
    `<Contents>${contents.join("")}</Contents></ListBucketResult>`;
}

Deno.test("parseListing: reads objects and where the next page begins", () => {
  const object = {
    key: "a/b",
    size: 7,
    etag: '"abc"',
    modifiedAt: Date.parse("2026-01-02T03:04:05.678Z"),
  };
  assert.deepEqual(parseListing(page()), { objects: [object], next: null });
  const more = "<IsTruncated>true</IsTruncated><NextContinuationToken>t+/=</NextContinuationToken>";
  assert.deepEqual(parseListing(page({}, more)), { objects: [object], next: "t+/=" });
});

Deno.test("parseListing: decodes keys only where the server says that they are encoded", () => {
  const key = (document: string) => parseListing(document)?.objects[0]?.key;
  const encoded = "<EncodingType>url</EncodingType>";
  assert.equal(key(page({ Key: "a%2Fb+c%2Bd%C3%B6" }, encoded)), "a/b c+dö");
  assert.equal(key(page({ Key: "a%2Fb+c" })), "a%2Fb+c");
  assert.equal(parseListing(page({ Key: "%E0%A4%A" }, encoded)), null);
});

Deno.test("parseListing: refuses a page that cannot be relied on", () => {
  const refused = [
    page({ Size: "-1" }),
    page({ Size: "" }),
    page({ Size: "1e3" }),
    page({ Size: "99999999999999999999" }),
    page({ LastModified: "yesterday" }),
    page({ Key: "" }),
    page({}, "<IsTruncated>true</IsTruncated>"),
    page().slice(0, -30),
    "<Error><Code>AccessDenied</Code></Error>",
    "<html></html>",
    "",
  ];
  for (const document of refused) assert.equal(parseListing(document), null, document);
});
