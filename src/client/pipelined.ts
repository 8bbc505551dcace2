// Pipelines many requests on one connection with a bounded number in flight.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Frame } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { DataPortError } from './data-port-error.ts';
import type { RequestSender } from './wire-connection.adapter.ts';

/** Limits of the requests in flight. */
const inFlightMax = 1024;
const bytesMax = 8 << 20;
/** Estimate for the header and extras of a request. */
const headBytes = 64;

export interface Pipelined {
  count: number;
  /** Called once per request, when it can be sent. */
  request: (index: number) => RequestParts;
  /** Receives the reply as offsets that are valid during the call. */
  take: (index: number, frame: Frame) => void;
  /** On abort nothing more is sent, and the promise rejects with the reason. */
  signal?: AbortSignal | undefined;
}

/** Resolves after the last reply. */
export function pipelined(connection: RequestSender, work: Pipelined): Promise<void> {
  return new PipelinedRun(connection, work).start();
}

class PipelinedRun {
  private readonly connection: RequestSender;
  private readonly work: Pipelined;
  private readonly finished: Deferred<void> = deferred();
  private next = 0;
  private answered = 0;
  private bytesInFlight = 0;

  constructor(connection: RequestSender, work: Pipelined) {
    this.connection = connection;
    this.work = work;
  }

  start(): Promise<void> {
    this.sendMore();
    return this.finished.promise;
  }

  private sendMore(): void {
    const { work } = this;
    if (work.signal?.aborted) {
      this.finished.reject(work.signal.reason as Error);
      return;
    }
    while (this.next < work.count && this.next - this.answered < inFlightMax && this.bytesInFlight < bytesMax)
      this.send(this.next++);
    if (this.answered === work.count) this.finished.resolve();
  }

  private send(index: number): void {
    const request = this.work.request(index);
    const bytes = headBytes + (request.key?.length ?? 0) + (request.value?.length ?? 0);
    this.bytesInFlight += bytes;
    this.connection.send(request, (frame) => {
      this.bytesInFlight -= bytes;
      this.answered++;
      if (frame === null) {
        const lost = new DataPortError('the connection to the data port ended before the answer came');
        this.finished.reject(lost);
        return true;
      }
      this.work.take(index, frame);
      // Only when half of the requests are answered, so that the next ones are sent together.
      if (this.next - this.answered <= inFlightMax / 2 || this.answered === this.work.count) this.sendMore();
      return true;
    });
  }
}
