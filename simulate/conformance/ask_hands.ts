import type { Hands } from "./hands.ts";

/**
 * Hands of whoever runs the kit: each thing is asked for, and `confirm` waits for their yes or no.
 */
export function createAskHands(confirm: (question: string) => boolean): Hands {
  const ask = (question: string) => Promise.resolve(confirm(question));
  return {
    tokens: () => Promise.resolve([]),
    offer: ({ clusterId, nodeName }) =>
      ask(
        `Offer an operation to node ${nodeName} of cluster ${clusterId}, if you can one with secrets ` +
          "such as s3.verify. It is not carried out. Done?",
      ),
    limit: () => ask("Let the portal answer the next report with 429, if you can. Done?"),
    revoke: ({ nodeName }, agentId) => ask(`Revoke agent ${agentId} (${nodeName}). Done?`),
  };
}
