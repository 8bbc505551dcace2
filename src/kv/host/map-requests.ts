// Changes of bucket maps that the data service has requested and the cluster manager has not answered yet; the manager writes them into
// the configuration.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { MapChange, MapOutcome, MapRequest } from '../admin.ts';

/** A bucket has one request at a time. Requests of buckets that were closed remain until the manager answers. */
export const mapRequestsMax = 1_000;

export class MapRequests {
  private readonly send: ((request: MapRequest) => void) | null;
  private readonly waiting = new Map<number, Deferred<MapOutcome>>();
  private lastId = 0;

  /** Without `send` the outcome of every change is unknown. */
  constructor(send: ((request: MapRequest) => void) | null) {
    this.send = send;
  }

  ask(change: MapChange): Promise<MapOutcome> {
    if (this.send === null)
      return Promise.resolve({ kind: 'unknown', reason: 'there is no manager that makes changes' });
    if (this.waiting.size >= mapRequestsMax)
      return Promise.resolve({ kind: 'unknown', reason: `${mapRequestsMax} changes wait for the manager` });
    const id = ++this.lastId;
    const answer = deferred<MapOutcome>();
    this.waiting.set(id, answer);
    this.send({ id, change });
    return answer.promise;
  }

  answer(id: number, outcome: MapOutcome): void {
    this.waiting.get(id)?.resolve(outcome);
    this.waiting.delete(id);
  }
}
