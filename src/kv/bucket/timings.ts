// How long a bucket's waits for its disk take, since it was started.
import { Histogram } from '#base/histogram.ts';

export class Timings {
  /** From handing cuts over until they survive. */
  readonly commit = new Histogram();
  /** From a document's being asked for until its read begins, and the read of its batch. */
  readonly fetchWait = new Histogram();
  readonly fetch = new Histogram();
}
