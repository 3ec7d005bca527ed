import type { S3Object, S3Page } from "../../../core/ports/s3.ts";
import { parseXml, textOf, type XmlElement } from "./xml.ts";

/**
 * The page in an answer to ListObjectsV2, or null where it is none. Keys are asked for in URL encoding,
 * because XML cannot carry every character of a key; a server that did not heed that says so by not
 * naming the encoding.
 */
export function parseListing(document: string): S3Page | null {
  const root = parseXml(document);
  if (root?.name !== "ListBucketResult") return null;
  const isEncoded = textOf(root, "EncodingType") === "url";
  const objects: S3Object[] = [];
  for (const child of root.children) {
    if (child.name !== "Contents") continue;
    const object = parseObject(child, isEncoded);
    if (object === null) return null;
    objects.push(object);
  }
  const isTruncated = textOf(root, "IsTruncated") === "true";
  const next = isTruncated ? textOf(root, "NextContinuationToken") ?? "" : null;
  return next === "" ? null : { objects, next };
}

function parseObject(contents: XmlElement, isEncoded: boolean): S3Object | null {
  const key = decodeKey(textOf(contents, "Key") ?? "", isEncoded);
  const size = textOf(contents, "Size") ?? "";
  const modifiedAt = Date.parse(textOf(contents, "LastModified") ?? "");
  if (!key || !/^[0-9]{1,15}$/.test(size) || Number.isNaN(modifiedAt)) return null;
  return { key, size: Number(size), etag: textOf(contents, "ETag") ?? "", modifiedAt };
}

function decodeKey(text: string, isEncoded: boolean): string | null {
  if (!isEncoded) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
