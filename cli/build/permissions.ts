/**
 * What is baked into the program. Arguments of the program cannot widen it; nothing prompts.
 *
 * It is everything, because Deno opens /proc and /sys to a program that may do everything and to no
 * other: denying a single thing beside it (`--deny-ffi`, `--deny-run=...`) takes the boot ID and the
 * memory out of every report, the search for a running k3s out of a restore, and the boot entries out
 * of an upgrade. Measured with Deno 2.6.8 and 2.9.6; SECURITY.md names it as a weakness.
 */
export const PERMISSION_FLAGS: readonly string[] = ["--no-prompt", "--allow-all"];
