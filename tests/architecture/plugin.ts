/// <reference lib="deno.unstable" />
import { exportedDoc } from "./rules/exported_doc.ts";
import { noAmbient } from "./rules/no_ambient.ts";
import { noLocale } from "./rules/no_locale.ts";
import { noModuleState } from "./rules/no_module_state.ts";

/** This repository's own lint rules. `deno lint` runs them, and so does `source_test.ts`. */
const plugin: Deno.lint.Plugin = {
  name: "pbx",
  rules: {
    "exported-doc": exportedDoc,
    "no-ambient": noAmbient,
    "no-locale": noLocale,
    "no-module-state": noModuleState,
  },
};

export default plugin;
