// Calls of another node's REST API while nodes join. The adapter makes the connections.
import type { TargetAddress } from './target-address.ts';

export interface RemoteCall {
  target: TargetAddress;
  user: string;
  password: string;
  path: string;
  /** Form fields, or a JSON value; absent: the call is a GET. */
  content?: { form: Readonly<Record<string, string>> } | { json: unknown };
  timeoutMs: number;
  signal?: AbortSignal;
  /** The address to connect from, if the other node admits only that. */
  localAddress?: string | undefined;
}

export interface RemoteAnswer {
  status: number;
  body: string;
  /** This node's address of the connection, under which the other node can reach this one. */
  localAddress: string;
  /** The scheme that the port turned out to have. */
  scheme: 'http' | 'https';
}

/** @throws RemoteError when there is no answer. */
export type CallRemote = (call: RemoteCall) => Promise<RemoteAnswer>;

/** Why a node could not be called, in the published words. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
}

/** The texts of a refusal. */
export function refusedTexts({ status, body }: RemoteAnswer): string[] {
  if (status === 401) return ['Authentication failed. Verify username and password.'];
  try {
    const value = JSON.parse(body) as unknown;
    if (Array.isArray(value)) return value.map(String);
  } catch {
    // not JSON: the body is the text
  }
  return [body.trim() === '' ? `The node answered with status ${status}.` : body.trim()];
}
