import assert from "node:assert/strict";
import { createFakeLog } from "../../adapters/fake/log.ts";
import { jsonLine } from "../../adapters/log_record.ts";
import { createNodeLog } from "../../adapters/node/log.ts";
import { LOG_TIME, logContract } from "./log_contract.ts";

logContract("createFakeLog", () => {
  const log = createFakeLog({ now: () => LOG_TIME });
  return { log, lines: () => log.records().map((record) => JSON.parse(jsonLine(record))) };
});

logContract("createNodeLog", () => {
  const written: string[] = [];
  const log = createNodeLog({
    stream: "stderr",
    json: true,
    now: () => LOG_TIME,
    write: (line) => written.push(line),
  });
  return {
    log,
    lines: () =>
      written.map((line) => {
        assert.match(line, /^[^\n]+\n$/);
        return JSON.parse(line);
      }),
  };
});
