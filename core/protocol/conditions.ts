import { CONDITION_TABLE } from "./condition_table.ts";

/** A condition's code. */
export type ConditionCode = keyof typeof CONDITION_TABLE;

/**
 * Every condition code that leaves the program (protocol §4). `identity_unreadable` is seen in the log
 * and in `status` only: without an identity there is nothing to sign a report with.
 */
export const CONDITION_CODES = Object.keys(CONDITION_TABLE) as readonly ConditionCode[];
