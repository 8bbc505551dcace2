// The official SDK with limits that end only what hangs. Its own limits, such as 2.5 seconds for an operation on a document, are too short
// on a machine with much other work. A test whose operation must not succeed sets a shorter limit for that operation.
import { type Cluster, type ConnectOptions, connect as connectWith } from 'couchbase';

const limitMs = 60_000;
const timeouts = {
  kvTimeout: limitMs,
  kvDurableTimeout: limitMs,
  bootstrapTimeout: limitMs,
  connectTimeout: limitMs,
};

export const connect = (address: string, options: ConnectOptions): Promise<Cluster> =>
  connectWith(address, { ...options, timeouts: { ...timeouts, ...options.timeouts } });
