// A query thread's indexes: it scans them itself, and sends changes of definitions to the main thread.
import type { MessagePort } from 'node:worker_threads';
import { deferred } from '#base/deferred.ts';
import type { Clock } from '#ports/clock.ts';
import type { IndexAdmin, IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { IndexCatalog } from '../scan/index-catalog.ts';
import { IndexScans } from '../scan/index-scans.ts';
import type { KeyDirections } from '../spans/intervals.ts';
import type { IndexReaders } from '../store/index-store.ts';
import { LinkCalls } from './link-calls.ts';
import type { LinkMessage } from './link-messages.ts';
import { LinkedIndexAdmin } from './linked-index-admin.ts';

export interface LinkedIndexesOptions {
  /** From `IndexLinks.connect`, transferred to this thread. */
  readonly port: MessagePort;
  readonly readers: IndexReaders;
  readonly clock: Clock;
  readonly directions: (definition: IndexDefinition) => KeyDirections;
}

export interface LinkedIndexes {
  readonly indexes: IndexScans;
  readonly admin: IndexAdmin;
  /** All indexes of all keyspaces, for the catalog. */
  readonly catalog: IndexCatalog;
  close(): void;
}

/** Resolves when the state of the indexes is known. */
export async function connectIndexes(options: LinkedIndexesOptions): Promise<LinkedIndexes> {
  const { port } = options;
  const catalog = new IndexCatalog();
  const calls = new LinkCalls(port);
  const firstState = deferred<void>();
  port.on('message', (message: LinkMessage) => {
    if (message.kind !== 'state') return calls.answer(message);
    catalog.set(message.indexes);
    firstState.resolve();
  });
  port.on('close', () => calls.close());
  const damaged = ({ id, keyspace }: IndexDefinition): void => {
    // The state shows the outcome.
    calls.call({ method: 'damaged', bucketUuid: keyspace.bucketUuid, indexId: id }).catch(() => {});
  };
  const indexes = new IndexScans({ ...options, catalog, damaged });
  await firstState.promise;
  return {
    indexes,
    catalog,
    admin: new LinkedIndexAdmin(calls, catalog),
    close() {
      indexes.close();
      port.close();
    },
  };
}
