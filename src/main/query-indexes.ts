// The indexes that a query thread scans: it reads the files of the index service and sends changes of definitions to the main thread.

import type { MessagePort } from 'node:worker_threads';
import { keyPartsOf } from '#index/entries/key-parts.ts';
import { connectIndexes } from '#index/link/linked-indexes.ts';
import { IndexFolderReaders } from '#index/store/index-folder.adapter.ts';
import { realClock } from '#ports/clock.ts';
import type { ConnectedIndexes } from '#query/host/query-host-options.ts';
import type { QueryStart } from '#query/host/query-messages.ts';

export async function connectIndexFiles(
  { indexFolder }: QueryStart,
  port: MessagePort,
): Promise<ConnectedIndexes> {
  const { indexes, admin, catalog } = await connectIndexes({
    port,
    readers: new IndexFolderReaders(indexFolder),
    clock: realClock,
    directions: keyPartsOf,
  });
  let revision = 0;
  let lastStates = '';
  // New progress of an index changes no plan.
  catalog.onChange(() => {
    const now = catalog
      .all()
      .map(({ definition, state }) => `${definition.id} ${state}`)
      .join();
    if (now !== lastStates) revision++;
    lastStates = now;
  });
  return { indexes, admin, revision: () => revision };
}
