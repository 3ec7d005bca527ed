import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { dropIns } from "../../../core/host/drop_ins.ts";
import { isCronSchedule } from "../../../core/protocol/cron.ts";
import type { HostSettings } from "../../../core/protocol/desired_state.ts";

const DIRECTORY = "/etc/rancher/k3s/config.yaml.d";

function settings(ingress: HostSettings["ingress"]): HostSettings {
  return { snapshots: { schedule: "0 */6 * * *", retention: 12, compress: false }, ingress };
}

Deno.test("dropIns: the snapshot settings, the schedule quoted, the rest plain", () => {
  const [snapshots] = dropIns(settings("traefik"));
  assert.equal(snapshots?.path, `${DIRECTORY}/50-pbx-snapshots.yaml`);
  const [comment, ...lines] = snapshots.content.split("\n").filter((line) => line !== "");
  assert.match(comment ?? "", /^# .*pbx-agent.*portal/);
  assert.deepEqual(lines, [
    "etcd-s3: true",
    "etcd-s3-config-secret: pbx-etcd-s3",
    'etcd-snapshot-schedule-cron: "0 */6 * * *"',
    "etcd-snapshot-retention: 12",
    "etcd-snapshot-compress: false",
  ]);
});

Deno.test("dropIns: ingress none adds Traefik to what is disabled, traefik adds nothing", () => {
  for (
    const [ingress, expected] of [["none", { "disable+": ["traefik"] }], ["traefik", {}]] as const
  ) {
    const file = dropIns(settings(ingress))[1];
    assert.equal(file?.path, `${DIRECTORY}/50-pbx-ingress.yaml`);
    assert.match(file.content, /^# .*pbx-agent.*portal/);
    assert.deepEqual(parse(file.content), expected);
  }
});

Deno.test("dropIns: every setting arrives as it is, for readers of YAML 1.1 and 1.2, in the same bytes", () => {
  const field = fc.constantFrom("*", "?", "0", "*/5", "1-5", "1,2,3");
  fc.assert(
    fc.property(
      fc.record({
        snapshots: fc.record({
          schedule: fc.array(field, { minLength: 5, maxLength: 5 })
            .map((fields) => fields.join(" ")).filter(isCronSchedule),
          retention: fc.integer({ min: 1, max: 1000 }),
          compress: fc.boolean(),
        }),
        ingress: fc.constantFrom("traefik" as const, "none" as const),
      }),
      (host) => {
        const [snapshots] = dropIns(host);
        for (const version of ["1.1", "1.2"] as const) {
          assert.deepEqual(parse(snapshots?.content ?? "", { version }), {
            "etcd-s3": true,
            "etcd-s3-config-secret": "pbx-etcd-s3",
            "etcd-snapshot-schedule-cron": host.snapshots.schedule,
            "etcd-snapshot-retention": host.snapshots.retention,
            "etcd-snapshot-compress": host.snapshots.compress,
          });
        }
        assert.deepEqual(dropIns(structuredClone(host)), dropIns(host));
      },
    ),
    { seed: 20260330, numRuns: 200 },
  );
});
