import assert from "node:assert/strict";
import { S3Bucket, S3Endpoint, S3Folder, S3Region } from "../../../core/protocol/s3_target.ts";

Deno.test("S3Endpoint: host[:port] or https, http on loopback only, never the link-local network", () => {
  for (
    const good of [
      "s3.example.com",
      "s3.example.com:9000",
      "https://s3.example.com",
      "https://s3.example.com:9000/",
      "https://[2001:db8::1]:9000",
      "http://127.0.0.1:9000",
      "http://[::1]:9000",
      "127.0.0.1:9000",
      "minio",
      "minio_1:9000",
    ]
  ) assert.equal(S3Endpoint.safeParse(good).success, true, good);
  for (
    const bad of [
      "",
      "http://s3.example.com",
      "ftp://s3.example.com",
      "https://s3.example.com/path",
      "https://user@s3.example.com",
      "s3.example.com?x",
      "s3.example.com#x",
      "s3.example.com:0",
      "s3.example.com:65536",
      "s3 example.com",
      "s3.example.com\n",
      "169.254.169.254",
      "169.254.1.2:80",
      "https://169.254.169.254",
      "http://169.254.169.254",
      "0xa9fea9fe",
      "0xa9.0xfe.0xa9.0xfe",
      "2852039166",
      "0251.0376.0251.0376",
      "169.254.43518",
      "169.254.169.254.",
      "[::ffff:169.254.169.254]",
      "https://[::ffff:a9fe:a9fe]",
      "[64:ff9b::a9fe:a9fe]",
      "[2002:a9fe:a9fe::]",
    ]
  ) assert.equal(S3Endpoint.safeParse(bad).success, false, bad);
});

Deno.test("S3Folder: is normalised as k3s does it, and refused where k3s would write elsewhere", () => {
  for (
    const [given, used] of [
      ["f", "f"],
      ["a/b", "a/b"],
      ["a//b", "a/b"],
      ["./f", "f"],
      ["f/", "f"],
      ["a/./b//", "a/b"],
      ["..a/b..", "..a/b.."],
      ["ä b", "ä b"],
    ]
  ) assert.equal(S3Folder.parse(given), used);
  for (
    const bad of [
      "",
      "/",
      "/f",
      "//f",
      ".",
      "./",
      "..",
      "a/../b",
      "a/..",
      "a\nb",
      "a\x7f",
      "\ud800",
    ]
  ) {
    assert.equal(S3Folder.safeParse(bad).success, false, JSON.stringify(bad));
  }
});

Deno.test("S3Bucket and S3Region: as S3 spells them", () => {
  for (const good of ["abc", "pbx-snapshots", "a.b.c", "1ab"]) {
    assert.equal(S3Bucket.safeParse(good).success, true, good);
  }
  for (
    const bad of [
      "ab",
      "Abc",
      "a_b",
      "-ab",
      "ab-",
      "a..b",
      "192.168.0.1",
      "xn--abc",
      "a".repeat(64),
      "a/b",
    ]
  ) {
    assert.equal(S3Bucket.safeParse(bad).success, false, bad);
  }
  for (const good of ["eu-central", "fsn1", "1"]) {
    assert.equal(S3Region.safeParse(good).success, true, good);
  }
  for (const bad of ["", "EU", "eu central", "a".repeat(65)]) {
    assert.equal(S3Region.safeParse(bad).success, false, bad);
  }
});
