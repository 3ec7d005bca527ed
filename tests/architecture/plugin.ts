/// <reference lib="deno.unstable" />
import { exportedDoc } from "./rules/exported_doc.ts";
import { noAmbient } from "./rules/no_ambient.ts";
import { noLocalDate } from "./rules/no_local_date.ts";
import { noLocale } from "./rules/no_locale.ts";
import { noModuleState } from "./rules/no_module_state.ts";
import { noRandom } from "./rules/no_random.ts";

/** This repository's own lint rules. `deno lint` runs them, and so does `source_test.ts`. */
const plugin: Deno.lint.Plugin = {
  name: "pbx",
  rules: {
    "exported-doc": exportedDoc,
    "no-ambient": noAmbient,
    "no-local-date": noLocalDate,
    "no-locale": noLocale,
    "no-module-state": noModuleState,
    "no-random": noRandom,
  },
};

export default plugin;
