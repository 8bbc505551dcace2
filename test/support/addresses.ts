// Addresses of nodes as they print and report them: `127.0.0.1:11210`, `http://127.0.0.1:8091`.
import type { WireAddress } from '#client/wire-address.ts';
import type { NodeProcess } from './node-process.ts';

export const portNumber = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1]);

/** The data port of a node, for the clients of `#client`. */
export function dataAddress({ ready }: NodeProcess): WireAddress {
  const { kv } = ready.node;
  return { host: kv.slice(0, kv.lastIndexOf(':')), port: portNumber(kv), timeoutMs: 60_000 };
}
