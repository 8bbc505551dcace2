// What the main thread stores for all query threads of the cluster, as this thread knows it: functions, libraries and statistics. Changes are
// sent to the main thread, which stores them and replies with everything that is stored.
import { type Deferred, deferred } from '#base/deferred.ts';
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
import type { QueryHostOptions } from './query-host-options.ts';

/** The known definitions, and the changes that wait for a reply. */
export interface StoredChanges {
  readonly functions: KnownFunctions;
  readonly functionChanges: PendingCalls<FunctionChange, FunctionOutcome>;
  readonly libraries: KnownLibraries;
  readonly libraryChanges: PendingCalls<LibraryChange, LibraryOutcome>;
  readonly statistics: KnownStatistics;
  readonly statisticsChanges: PendingCalls<StatisticsChange, StatisticsOutcome>;
}

export const storedChanges = (sendMessage: QueryHostOptions['sendMessage']): StoredChanges => ({
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

/** Sends calls of one kind, such as changes, to the main thread, and matches its replies to them. */
export class PendingCalls<Call, Outcome> {
  private readonly send: (callId: number, call: Call) => void;
  private readonly waiting = new Map<number, Deferred<Outcome>>();
  private lastCallId = 0;

  constructor(send: (callId: number, call: Call) => void) {
    this.send = send;
  }

  request(call: Call): Promise<Outcome> {
    const callId = ++this.lastCallId;
    const answer = deferred<Outcome>();
    this.waiting.set(callId, answer);
    this.send(callId, call);
    return answer.promise;
  }

  answer(callId: number, outcome: Outcome): void {
    this.waiting.get(callId)?.resolve(outcome);
    this.waiting.delete(callId);
  }
}
