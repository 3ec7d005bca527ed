import { createFakeS3 } from "../../adapters/fake/s3.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { Secret } from "../../core/secret.ts";
import { s3Contract, type S3World } from "./s3_contract.ts";

/** A clock that wakes at once, except for who waits to be aborted. */
function hurriedClock(): Clock {
  const clock = createNodeClock();
  return { ...clock, sleep: (ms, signal) => clock.sleep(ms >= 30_000 ? 100 : 0, signal) };
}

function openFake(): Promise<S3World> {
  const bucket = {
    endpoint: "s3.test",
    bucket: "snapshots",
    region: "lab-1",
    accessKey: new Secret("LABACCESSKEY"),
    secretKey: new Secret("lab-secret-key"),
  };
  const s3 = createFakeS3({ clock: hurriedClock(), bucket });
  return Promise.resolve({
    s3,
    bucket,
    put: (key, bytes) => Promise.resolve(s3.put(key, bytes)),
    remove: (key) => Promise.resolve(s3.remove(key)),
    cutAfter: (bytes) => {
      if (bytes === null) delete s3.faults.cutAfter;
      else s3.faults.cutAfter = bytes;
    },
    goAway: (how) => s3.faults.unreachable = how,
    shiftClock: (ms) => s3.faults.clockAhead = -ms,
    stranger: () => {
      s3.faults.denied = ["list", "read"];
      return bucket;
    },
    close: () => Promise.resolve(),
  });
}

s3Contract("fake", openFake);
