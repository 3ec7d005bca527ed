/** Why a template does not render: its kind and where it stands; never a value, which may be an option's. */
export class TemplateFault extends Error {
  /** The steps from the template's root to the fault, innermost first. */
  readonly path: string[] = [];
}

/** A template takes more work than it may. */
export class TooMuchWork extends Error {}

/** Characters that are copied, compared or looked through in about the time of one step. */
const CHARACTERS_A_STEP = 16;

/** Longest text that a template may make on its way: twice what all its objects may have together. */
const MAX_TEXT = 512 * 1024;

/** Counts work before it is done. */
export interface Budget {
  /** Takes `steps`; throws {@link TooMuchWork} where they are not left. */
  spend(steps: number): void;
  /** Takes what it costs to copy, compare or look through so many characters. */
  spendText(characters: number): void;
}

/** A budget of `steps`, each of which is taken from `whole` too, where that is given. */
export function createBudget(steps: number, whole?: Budget): Budget {
  let left = steps;
  const budget: Budget = {
    spend(more) {
      left -= more;
      if (left < 0) throw new TooMuchWork(`more than ${steps} steps`);
      whole?.spend(more);
    },
    spendText(characters) {
      if (characters > MAX_TEXT) {
        throw new TooMuchWork(`a text of more than ${MAX_TEXT} characters`);
      }
      budget.spend(1 + Math.floor(characters / CHARACTERS_A_STEP));
    },
  };
  return budget;
}

/** Looking for a text in a text costs their product where they are made for it. */
export function spendSearch(budget: Budget, where: number, what: number): void {
  budget.spendText(where);
  budget.spend(Math.floor(where * what / 1_024));
}
