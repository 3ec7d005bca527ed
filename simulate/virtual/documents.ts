import { mergePatch } from "../../adapters/portal/faults.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Random } from "../../core/ports/random.ts";
import { type Catalogue, MISSING_RELEASE, TAMPERED_RELEASE } from "./catalogue.ts";

/** A change of a desired state: a merge patch, and in words. `bad`: the agent has to refuse it. */
export interface Change {
  readonly patch: JsonObject;
  readonly words: string;
  readonly bad: boolean;
}

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/** Open at any time. */
export const ALWAYS = {
  timezone: "Europe/Berlin",
  windows: [{ days: DAYS, start: "00:00", minutes: 1440 }],
};
const WINDOWS = [
  ALWAYS,
  { timezone: "America/New_York", windows: [{ days: DAYS, start: "23:30", minutes: 90 }] },
  { timezone: "UTC", windows: [] },
];

/**
 * Other maintenance windows, and what needs a restart of k3s in one of them. They are shut now: a clock that
 * is wrong by a day, or by hours, would open them. `now`: the true time, milliseconds since the epoch.
 */
export function otherWindows(random: Random, now: number): Change {
  const [which, when, long] = [random.fraction(), random.fraction(), random.fraction()];
  const from = (minutes: number) => new Date(now + minutes * 60_000);
  const windows = which < 0.4
    // All days but the three around this one.
    ? [{ days: daysFrom(from(0), 2, 4), start: "00:00", minutes: 1440 }]
    : which < 0.7
    // Every day, hours from now.
    ? [{ days: DAYS, start: timeOf(from(240)), minutes: 900 + Math.floor(long * 200) }]
    // On one day only, soon.
    : [
      {
        days: daysFrom(from(5 + when * 40), 0, 1),
        start: timeOf(from(5 + when * 40)),
        minutes: 12 + Math.floor(long * 20),
      },
    ];
  const schedule = `${Math.floor(when * 60)} */${2 + Math.floor(long * 8)} * * *`;
  return {
    patch: { maintenance: { timezone: "UTC", windows }, host: { snapshots: { schedule } } },
    words: "other maintenance windows, and what waits for them",
    bad: false,
  };
}

/** Names of days, the first of them `after` days after that of `date` (UTC). */
function daysFrom(date: Date, after: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const day = (date.getUTCDay() + 6 + after + at) % 7;
    return DAYS[day] ?? "mon";
  });
}

/** `HH:MM`, UTC. */
function timeOf(date: Date): string {
  return date.toISOString().slice(11, 16);
}

/** A change that the agent has to take. */
export function goodChange(random: Random): Change {
  const [which, how] = [random.fraction(), random.fraction()];
  const good = (words: string, patch: JsonObject): Change => ({ patch, words, bad: false });
  if (which < 0.25) {
    const minute = Math.floor(how * 60);
    return good(`snapshots at minute ${minute}`, {
      host: { snapshots: { schedule: `${minute} */6 * * *` } },
    });
  }
  if (which < 0.35) {
    const ingress = how < 0.5 ? "none" : "traefik";
    const registries = how < 0.7
      ? registriesWith(`registry-password-${Math.floor(how * 1e9)}`)
      : null;
    return good(`ingress ${ingress}, ${registries === null ? "no" : "a"} mirror`, {
      host: { ingress, registries },
    });
  }
  if (which < 0.55) {
    const maintenance = WINDOWS[Math.floor(how * WINDOWS.length)] ?? ALWAYS;
    return good(`${maintenance.windows.length} maintenance windows`, { maintenance });
  }
  if (which < 0.75) {
    return good("another token of the cloud", {
      secrets: { hcloud: { token: { plain: `hcloud-token-${Math.floor(how * 1e9)}` } } },
    });
  }
  return good("other add-ons", { addons: someAddons(random) });
}

/** A change that the agent has to refuse as a whole, each for another reason. */
export function badChange(random: Random): Change {
  const bad = (words: string, patch: JsonObject): Change => ({ patch, words, bad: true });
  const changes: readonly Change[] = [
    bad("a secret in clear", {
      secrets: { hcloud: { token: { verbatim: "in-clear-by-mistake" } } },
    }),
    bad("a secret sealed to another key", {
      secrets: { hcloud: { token: { plain: "for-somebody-else", to: OTHER_KEY } } },
    }),
    bad("a retention of 0", { host: { snapshots: { retention: 0 } } }),
    bad("a time zone that is none", { maintenance: { timezone: "Mars/Olympus", windows: [] } }),
    bad("a release that is nowhere", { release: MISSING_RELEASE }),
    bad("a release that was tampered with", { release: TAMPERED_RELEASE }),
    bad("a registry that the release does not name", {
      host: {
        registries: { mirrors: { "docker.io": { endpoint: ["https://evil.example.com"] } } },
      },
    }),
    bad("a secret option in clear", {
      addons: [{
        name: "external-dns",
        enabled: true,
        options: { domain: "example.com", api_token: "option-in-clear" },
      }],
    }),
  ];
  return changes[Math.floor(random.fraction() * changes.length)] as Change;
}

/** Another version of the agent, from the release that brings it. */
export function updateChange(agent: string, catalogue: Catalogue): Change {
  const patch = { release: catalogue.releaseWith(agent), agent: { version: agent } };
  return { patch, words: `the agent ${agent}`, bad: false };
}

/** The document that a change makes of another. */
export function changed(document: JsonValue, change: Change, revision: number): JsonObject {
  return mergePatch(document, { ...change.patch, revision }) as JsonObject;
}

/** Registries that the first release names. */
function registriesWith(password: string): JsonObject {
  return {
    mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
    configs: { "mirror.example.com": { username: "simulated", password: { plain: password } } },
  };
}

function someAddons(random: Random): JsonValue {
  const [cloud, dns] = [random.fraction(), random.fraction()];
  const addons: JsonValue[] = [];
  if (cloud < 0.8) {
    addons.push({
      name: "hcloud-cloud-controller-manager",
      enabled: cloud < 0.6,
      options: { networking: cloud < 0.3 },
    });
  }
  if (dns < 0.8) {
    addons.push({
      name: "external-dns",
      enabled: dns < 0.5,
      options: { domain: `zone-${Math.floor(dns * 10)}.example.com` },
      secret_options: { api_token: { plain: `dns-token-${Math.floor(dns * 1e6)}` } },
    });
  }
  return addons;
}

/** Nobody's: its secret half was forgotten. */
const OTHER_KEY = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=";
