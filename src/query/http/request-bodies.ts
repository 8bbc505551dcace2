// Bodies of requests: each with a limit, and all of them together, from their first byte until their request is answered.
import type { IncomingMessage } from 'node:http';
import { deferred } from '#base/deferred.ts';

/** null: the client has gone. */
export type ReadBody = Buffer | 'too large' | 'too many' | null;

export class RequestBodies {
  private readonly totalMax: number;
  private held = 0;

  /** `totalMax`: bytes of all bodies together. */
  constructor(totalMax: number) {
    this.totalMax = totalMax;
  }

  /** Reads a body, and holds its bytes until `use` ends. */
  async with<T>(request: IncomingMessage, bytesMax: number, use: (body: ReadBody) => Promise<T>): Promise<T> {
    const size = { bytes: 0 };
    try {
      return await use(await this.read(request, bytesMax, size));
    } finally {
      this.held -= size.bytes;
    }
  }

  private read(request: IncomingMessage, bytesMax: number, size: { bytes: number }): Promise<ReadBody> {
    if (request.destroyed) return Promise.resolve(null);
    const body = deferred<ReadBody>();
    const chunks: Buffer[] = [];
    /** What still comes is dropped, so that the client sees the answer. */
    const refuse = (problem: 'too large' | 'too many'): void => {
      request.removeAllListeners('data').resume();
      chunks.length = 0;
      body.resolve(problem);
    };
    request.on('data', (chunk: Buffer) => {
      size.bytes += chunk.length;
      this.held += chunk.length;
      if (size.bytes > bytesMax) refuse('too large');
      else if (this.held > this.totalMax) refuse('too many');
      else chunks.push(chunk);
    });
    request.once('end', () => body.resolve(Buffer.concat(chunks)));
    request.once('error', () => body.resolve(null)).once('close', () => body.resolve(null));
    return body.promise;
  }
}
