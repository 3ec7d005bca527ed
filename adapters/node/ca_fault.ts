import { createHttpClients } from "./http_clients.ts";

/** Why a bundle of certificates (PEM) cannot be trusted by the HTTP client, for people; null where it can. */
export function caFault(pem: string): string | null {
  try {
    createHttpClients(pem).close();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
