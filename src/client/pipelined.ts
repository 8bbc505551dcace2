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

export interface PipelinedRequests {
  count: number;
  /** Called once per request, when it can be sent. What it throws, the promise rejects with. */
  request: (index: number) => RequestParts;
  /** Receives the reply as offsets that are valid during the call. What it throws, the promise rejects with. */
  receive: (index: number, frame: Frame) => void;
  /** On abort nothing more is sent, and the promise rejects at once with the reason; later replies are ignored. */
  signal?: AbortSignal | undefined;
}

/** Resolves after the last reply. */
export function pipelined(connection: Pick<RequestSender, 'send'>, work: PipelinedRequests): Promise<void> {
  return new PipelinedRun(connection, work).start();
}

class PipelinedRun {
  private readonly connection: Pick<RequestSender, 'send'>;
  private readonly work: PipelinedRequests;
  private readonly finished: Deferred<void> = deferred();
  private next = 0;
  private answered = 0;
  private bytesInFlight = 0;
  private isStopped = false;

  constructor(connection: Pick<RequestSender, 'send'>, work: PipelinedRequests) {
    this.connection = connection;
    this.work = work;
  }

  async start(): Promise<void> {
    const { signal } = this.work;
    signal?.throwIfAborted();
    const onAbort = () => this.stop(signal?.reason as Error);
    signal?.addEventListener('abort', onAbort);
    try {
      this.sendMore();
      await this.finished.promise;
    } catch (error) {
      this.isStopped = true;
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private stop(reason: Error): void {
    this.isStopped = true;
    this.finished.reject(reason);
  }

  private sendMore(): void {
    const { work } = this;
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
      if (this.isStopped) return true;
      if (frame === null) {
        this.stop(new DataPortError('the connection to the data port ended before the answer came'));
        return true;
      }
      try {
        this.work.receive(index, frame);
        // Sends more only when at most half of the window is in flight, so that requests are sent in batches.
        if (this.next - this.answered <= inFlightMax / 2 || this.answered === this.work.count)
          this.sendMore();
      } catch (error) {
        this.stop(error as Error);
      }
      return true;
    });
  }
}
