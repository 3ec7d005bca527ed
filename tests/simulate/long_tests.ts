/**
 * The tests of which the default run plays a sample and the nightly one everything (PBX_LONG=1);
 * tests/runner/long_tests_test.ts keeps the list whole. Several servers have seeds of their own.
 */
export const LONG_TESTS: readonly string[] = [
  "operations/access_issue",
  "operations/begun_by_earlier",
  "operations/cluster_restore_cut",
  "operations/cluster_upgrade_cut",
  "operations/cluster_upgrade_evidence",
  "operations/diag_collect",
  "operations/disk_trouble_matrix",
  "operations/engine_resume",
  "operations/node_drain",
  "operations/node_forget",
  "operations/rejoin_cut",
  "operations/restore_clock",
  "operations/s3_verify",
  "operations/snapshot_clock",
  "operations/snapshot_save",
  "agent/rotate_key_disk",
  "simulate/conformance/planted",
].map((name) => `tests/unit/${name}_test.ts`);
