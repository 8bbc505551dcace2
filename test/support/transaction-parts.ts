// What tests of transactions need of a node: connections to its data port, and its collections.

import { realClock } from '#ports/clock.ts';
import { BucketClients } from '#query/data/bucket-clients.ts';
import { Keyspaces } from '#query/data/keyspaces.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { dataAddress } from './addresses.ts';
import { administrator } from './node-process.ts';
import type { SdkNode } from './sdk-node.ts';

export interface TransactionParts {
  readonly clients: BucketClients;
  readonly keyspaces: Keyspaces;
  readonly keyspace: Keyspace;
}

export async function partsOf(sdk: SdkNode): Promise<TransactionParts> {
  const clients = new BucketClients(realClock);
  clients.use({ address: dataAddress(sdk.node), account: administrator });
  const keyspaces = keyspacesOf('b');
  const name = { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' } as const;
  return { clients, keyspaces, keyspace: keyspaces.find(name) as Keyspace };
}

export function keyspacesOf(...buckets: readonly string[]): Keyspaces {
  const keyspaces = new Keyspaces();
  const collections = [{ name: '_default', uid: '0' }];
  const scopes = [{ name: '_default', uid: '0', collections }];
  keyspaces.set(buckets.map((name) => ({ name, uuid: name, incarnation: 0, type: 'membase', scopes })));
  return keyspaces;
}
