import { fail, ok, type Result } from "../../result.ts";
import { type Assertion, isAnchored, PatternFault, type PatternNode, readPattern } from "./read.ts";

/** What comparisons may still cost, in steps; shared by all that are made in one go. */
export interface Work {
  left: number;
}

/**
 * Steps for all options of a desired state: a step is a state of a pattern at a character, so that a whole
 * body of text against an ordinary pattern takes a tenth of it. Some tenths of a second.
 */
const MAX_STEPS = 5_000_000;

/** The work that the options of one desired state may make. */
export function workOfOptions(): Work {
  return { left: MAX_STEPS };
}

/** Where a pattern is while it reads a text. */
export type PatternState =
  | { readonly kind: "character"; readonly accepts: Accepts; readonly next: number }
  | { readonly kind: "assertion"; readonly sign: Assertion; readonly next: number }
  | { readonly kind: "split"; readonly next: readonly number[] }
  | { readonly kind: "end" };
type Accepts = (character: string) => boolean;

/** A pattern that texts can be compared with, as a nondeterministic automaton: it never goes back in a text. */
export interface Pattern {
  readonly states: readonly PatternState[];
  readonly start: number;
}

/** Parts of a pattern with all its repetitions written out. */
const MAX_PARTS = 10_000;

/** Reads a pattern for options: anchored, without look-around and back-references. The error has no value. */
export function compilePattern(source: string): Result<Pattern, string> {
  try {
    const tree = readPattern(source);
    if (!isAnchored(tree)) {
      return fail(
        "does not begin with ^ and end with $ in each of its alternatives: write ^(?:...)$",
      );
    }
    return ok(compile(tree));
  } catch (cause) {
    if (cause instanceof PatternFault) return fail(cause.message);
    throw cause;
  }
}

function compile(tree: PatternNode): Pattern {
  const states: PatternState[] = [{ kind: "end" }];
  const known = new Map<string, Accepts>();
  let parts = 0;

  function add(state: PatternState): number {
    states.push(state);
    return states.length - 1;
  }

  function acceptsOf(source: string): Accepts {
    const before = known.get(source);
    if (before !== undefined) return before;
    const accepts = acceptsOne(source);
    known.set(source, accepts);
    return accepts;
  }

  /** Gives the state that `node` begins with; `next`: the one behind it. */
  function emit(node: PatternNode, next: number): number {
    if (++parts > MAX_PARTS) {
      throw new PatternFault(
        `has more than ${MAX_PARTS} parts with its repetitions written out: ` +
          "limit the length by maxLength",
      );
    }
    switch (node.kind) {
      case "character":
        return add({ kind: "character", accepts: acceptsOf(node.source), next });
      case "assertion":
        return add({ kind: "assertion", sign: node.sign, next });
      case "sequence":
        return node.items.reduceRight((behind, item) => emit(item, behind), next);
      case "choice":
        return node.options.length === 1 && node.options[0] !== undefined
          ? emit(node.options[0], next)
          : add({ kind: "split", next: node.options.map((option) => emit(option, next)) });
      case "repeat":
        return repeat(node, next);
    }
  }

  function repeat({ item, min, max }: PatternNode & { kind: "repeat" }, next: number): number {
    let from = next;
    if (max === Infinity) {
      from = add({ kind: "split", next: [] });
      states[from] = { kind: "split", next: [emit(item, from), next] };
    } else {
      for (let n = min; n < max; n++) from = add({ kind: "split", next: [emit(item, from), next] });
    }
    for (let n = 0; n < min; n++) from = emit(item, from);
    return from;
  }

  const start = emit(tree, 0);
  return { states, start };
}

/** One character against a class, an escape or itself: what these mean is left to the language. */
function acceptsOne(source: string): Accepts {
  if (!/^[.[\\]/.test(source)) return (character) => character === source;
  const one = new RegExp(`^${source}$`, "u");
  return (character) => one.test(character);
}

/**
 * Whether the pattern matches `text`, by characters (code points); null where that takes more work than is
 * left. Takes at most as many steps as the text has characters times the pattern has states.
 */
export function matches({ states, start }: Pattern, text: string, work: Work): boolean | null {
  const characters = [...text];
  const seen = new Int32Array(states.length).fill(-1);
  let here = [start];
  for (let at = 0;; at++) {
    const waiting: (PatternState & { kind: "character" })[] = [];
    let isAtEnd = false;
    // What no character is needed for; `seen` keeps loops that read nothing from going round.
    for (let index = here.pop(); index !== undefined; index = here.pop()) {
      if (--work.left < 0) return null;
      if (seen[index] === at) continue;
      seen[index] = at;
      const state = states[index];
      switch (state?.kind) {
        case "character":
          waiting.push(state);
          break;
        case "assertion":
          if (holds(state.sign, characters[at - 1], characters[at])) here.push(state.next);
          break;
        case "split":
          here.push(...state.next);
          break;
        case "end":
          isAtEnd = true;
      }
    }
    const character = characters[at];
    if (character === undefined) return isAtEnd;
    here = waiting.filter(({ accepts }) => accepts(character)).map(({ next }) => next);
    if (here.length === 0) return false;
  }
}

function holds(sign: Assertion, before: string | undefined, behind: string | undefined): boolean {
  if (sign === "^") return before === undefined;
  if (sign === "$") return behind === undefined;
  return (isWord(before) !== isWord(behind)) === (sign === "\\b");
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}
