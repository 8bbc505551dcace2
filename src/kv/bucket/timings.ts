// Durations of a bucket's disk operations since it was started.
import { DurationHistogram } from '#base/duration-histogram.ts';

export class Timings {
  /** The time from passing cuts to the disk until they are persisted. */
  readonly commit = new DurationHistogram();
  /** The time from the request for a document until its read begins. */
  readonly fetchWait = new DurationHistogram();
  /** The time of the read of a batch of documents. */
  readonly fetch = new DurationHistogram();
}
