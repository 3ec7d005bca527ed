import assert from "node:assert/strict";
import { isTimeZone } from "../../../core/protocol/time_zone.ts";

Deno.test("isTimeZone: takes IANA names, old and new, in any case", () => {
  const zones = [
    "UTC",
    "GMT",
    "Etc/UTC",
    "Etc/GMT+5",
    "EST5EDT",
    "CET",
    "Europe/Berlin",
    "europe/berlin",
    "Europe/Kyiv",
    "Europe/Kiev",
    "America/Argentina/Buenos_Aires",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "US/Eastern",
  ];
  for (const zone of zones) assert.ok(isTimeZone(zone), zone);
});

Deno.test("isTimeZone: takes every zone that the runtime names", () => {
  for (const zone of Intl.supportedValuesOf("timeZone")) assert.ok(isTimeZone(zone), zone);
});

Deno.test("isTimeZone: takes no offset, no abbreviation and nothing made up", () => {
  const none = [
    "",
    " ",
    "Z",
    "+02:00",
    "-05",
    "+0000",
    "GMT+2",
    "UTC+1",
    "Mars/Olympus",
    "Europe",
    "Europe/",
    "Europe/Berlin ",
    " Europe/Berlin",
    "Europe//Berlin",
    "Europe/Berlin\n",
    "../etc/localtime",
    "localtime",
    "local",
    "CEST",
  ];
  for (const name of none) assert.ok(!isTimeZone(name), JSON.stringify(name));
});

Deno.test("isTimeZone: the runtime's own abbreviations are none, though Intl takes them", () => {
  for (const name of ["BST", "bst", "IST", "PST", "CST", "JST", "SystemV/PST8PDT"]) {
    assert.ok(!isTimeZone(name), name);
  }
});
