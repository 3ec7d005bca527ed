import type { Metadata, MetadataError } from "../../core/ports/metadata.ts";
import { fail, ok } from "../../core/result.ts";

/** A metadata service whose answer is set by hand. */
export interface FakeMetadata extends Metadata {
  /** The ID from now on, or why there is none. */
  answer(answer: string | MetadataError): void;
  /** How often it was asked. */
  asked(): number;
}

/** @param first the ID (decimal), or why there is none yet */
export function createFakeMetadata(first: string | MetadataError): FakeMetadata {
  let current = first;
  let count = 0;
  return {
    answer: (answer) => {
      current = answer;
    },
    asked: () => count,
    instanceId: () => {
      count++;
      return Promise.resolve(typeof current === "string" ? ok(current) : fail(current));
    },
  };
}
