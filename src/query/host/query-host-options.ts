// The options of a query thread.
import type { MessagePort } from 'node:worker_threads';
import type { Log } from '#ports/log.ts';
import type { IndexAdmin, Indexes } from '#sqlpp/datastore/indexes.ts';
import type { DirectReads } from '../data/quick-reads.ts';
import type { Engine } from '../state/engine-port.ts';
import type { QueryMessage, QueryStart } from './query-messages.ts';

export interface ConnectedIndexes {
  readonly indexes: Indexes;
  readonly admin: IndexAdmin;
  revision(): number;
}

export interface QueryHostOptions {
  readonly sendMessage: (message: QueryMessage) => void;
  readonly log: Log;
  readonly engine: () => Promise<Engine>;
  /** Reads documents in the memory of the data service, whose thread sends references to parts of it over the port. */
  readonly readMemory: (documents: MessagePort) => DirectReads;
  readonly connectIndexes: (start: QueryStart, port: MessagePort) => Promise<ConnectedIndexes>;
}
