// Named requests of the data port, and logged-in clients of a node over sockets.

import type { RequestParts } from '#wire/output.ts';
import { dataAddress } from './addresses.ts';
import { clientFeatures } from './client-features.ts';
import { KvConnection } from './kv-connection.ts';
import { administrator, type NodeProcess } from './node-process.ts';
import { Opcode } from './opcodes.ts';

/** A connection of the administrator, on the bucket. */
export function dataClient(
  node: NodeProcess,
  bucket = 'b',
  features: readonly number[] = clientFeatures,
): Promise<KvConnection> {
  return dataClientAt(dataAddress(node), bucket, features);
}

export async function dataClientAt(
  { host, port }: { host: string; port: number },
  bucket: string,
  features: readonly number[],
): Promise<KvConnection> {
  const client = await KvConnection.open(port, undefined, host);
  try {
    await client.hello(features);
    await client.plain(administrator.username, administrator.password);
    const { status } = await client.select(bucket);
    if (status !== 0) throw new Error(`cannot select ${bucket}: status ${status}`);
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

export const keyOf = (name: string, collection = 0): Buffer =>
  Buffer.concat([Buffer.from([collection]), Buffer.from(name)]);

/** The numbers as unsigned 32-bit big-endian integers, as extras have them. */
export const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
};

export const get = (name: string, overrides: Partial<RequestParts> = {}): RequestParts => ({
  opcode: Opcode.get,
  key: keyOf(name),
  ...overrides,
});

export const set = (
  name: string,
  value: string | Buffer,
  overrides: Partial<RequestParts> = {},
): RequestParts => ({
  opcode: Opcode.set,
  key: keyOf(name),
  extras: words(0, 0),
  value: Buffer.from(value),
  ...overrides,
});

export const remove = (name: string, overrides: Partial<RequestParts> = {}): RequestParts => ({
  opcode: Opcode.delete,
  key: keyOf(name),
  ...overrides,
});

/** Framing of a durable write: durability level 1 (majority), acknowledged once a majority of the copies have it in memory. */
export const majority = Buffer.from([0x11, 1]);

/** Framing of a write that is acknowledged once it is on disk: durability level 3 (persistToMajority), and a time limit of 32,767 ms. */
export const persisted = Buffer.from([0x13, 3, 0x7f, 0xff]);
