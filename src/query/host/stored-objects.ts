// The functions, libraries and statistics that all query threads of the cluster share, as this thread knows them. Changes are sent to the main
// thread, which stores them and replies with everything that is stored.
import { KnownLibraries } from '../functions/known-libraries.ts';
import { KnownFunctions } from '../functions/user-functions.ts';
import type {
  FunctionChange,
  FunctionOutcome,
  LibraryChange,
  LibraryOutcome,
  StatisticsChange,
  StatisticsOutcome,
} from '../query.contract.ts';
import { KnownStatistics } from '../statistics/known-statistics.ts';
import { PendingCalls } from './pending-calls.ts';
import type { QueryHostOptions } from './query-host-options.ts';

/** What this thread knows, and the changes that wait for a reply. */
export interface StoredObjects {
  readonly functions: KnownFunctions;
  readonly functionChanges: PendingCalls<FunctionChange, FunctionOutcome>;
  readonly libraries: KnownLibraries;
  readonly libraryChanges: PendingCalls<LibraryChange, LibraryOutcome>;
  readonly statistics: KnownStatistics;
  readonly statisticsChanges: PendingCalls<StatisticsChange, StatisticsOutcome>;
}

export const storedObjects = (sendMessage: QueryHostOptions['sendMessage']): StoredObjects => ({
  functions: new KnownFunctions(),
  functionChanges: new PendingCalls((callId, change) =>
    sendMessage({ kind: 'change function', callId, change }),
  ),
  libraries: new KnownLibraries(),
  libraryChanges: new PendingCalls((callId, change) =>
    sendMessage({ kind: 'change libraries', callId, change }),
  ),
  statistics: new KnownStatistics(),
  statisticsChanges: new PendingCalls((callId, change) =>
    sendMessage({ kind: 'change statistics', callId, change }),
  ),
});
