import type { FakeK8s } from "../../adapters/fake/k8s.ts";

/** What a cluster's consensus depends on. */
export interface Surroundings {
  /** A server's k3s runs on the database of this member. */
  runs(server: number, member: string): boolean;
  /** Two servers reach each other; each reaches itself. */
  reaches(a: number, b: number): boolean;
}

/** One cluster: a reset makes another, and whose database is of before stays in the old one. */
export interface Generation {
  readonly k8s: FakeK8s;
  /** Its member names by the number of their server. */
  readonly members: Map<string, number>;
  /** Members that are being filled: without a vote. */
  readonly learners: Set<string>;
  /** The members that have a vote. */
  voters(): readonly string[];
  /** The server that leads it: a member that reaches a majority; null where there is none. */
  leader(): number | null;
  /** A member follows its leader, or is it. */
  follows(member: string): boolean;
  /** Whether a server would take a member out: by etcd's own rule, which a majority has to carry out. */
  takesOut(through: number, member: string): boolean;
  remove(member: string): void;
}

/** A cluster of these members, which all have a vote. */
export function createGeneration(
  k8s: FakeK8s,
  { runs, reaches }: Surroundings,
  first: Iterable<readonly [string, number]> = [],
): Generation {
  const members = new Map(first);
  const learners = new Set<string>();
  let leading: string | null = null;

  const voters = () => [...members.keys()].filter((name) => !learners.has(name));
  const isThere = (name: string, from: number) => {
    const server = members.get(name);
    return server !== undefined && reaches(from, server) && runs(server, name);
  };
  const quorumOf = (votes: number) => Math.floor(votes / 2) + 1;

  /** Followers need not reach each other, but all of them the one that leads. */
  function canLead(name: string): boolean {
    const server = members.get(name);
    if (server === undefined || learners.has(name) || !runs(server, name)) return false;
    const all = voters();
    return all.filter((each) => isThere(each, server)).length >= quorumOf(all.length);
  }

  /** A leader stays one as long as it can: nobody stands against it before. */
  function leader(): number | null {
    if (leading === null || !canLead(leading)) leading = voters().find(canLead) ?? null;
    return leading === null ? null : members.get(leading) ?? null;
  }

  function follows(member: string): boolean {
    const first = leader();
    return first !== null && isThere(member, first);
  }

  return {
    k8s,
    members,
    learners,
    voters,
    leader,
    follows,
    takesOut(through, member) {
      const own = [...members].find(([, server]) => server === through)?.[0];
      // A learner is asked for nothing but its state.
      if (own === undefined || learners.has(own) || !follows(own)) return false;
      if (!members.has(member) || learners.has(member) || !isThere(member, through)) return true;
      // One that is active goes only if those that the server knows as active go on without it.
      const all = voters();
      const active = all.filter((each) => isThere(each, through)).length;
      return active - 1 >= quorumOf(all.length - 1);
    },
    remove(member) {
      members.delete(member);
      learners.delete(member);
    },
  };
}
