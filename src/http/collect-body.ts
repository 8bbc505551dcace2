// Collects the bytes of a request body.

export interface BodySource {
  readonly destroyed: boolean;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown;
  removeAllListeners(event: 'data'): unknown;
  resume(): unknown;
}

/**
 * Resolves with the body, with null when the client closes the connection first, or with the problem that `problemAfter` returns
 * for the bytes of a chunk: then the rest of the body is read and dropped, so that the client can read the reply.
 */
export function collectBody<Problem extends string>(
  source: BodySource,
  problemAfter: (chunkBytes: number) => Problem | null,
): Promise<Buffer | Problem | null> {
  // A source that is closed emits no further event.
  if (source.destroyed) return Promise.resolve(null);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let isDone = false;
    // Every source ends with two of these events, and to resolve a promise again takes V8 much longer than the first time.
    const finish = (result: Buffer | Problem | null): void => {
      if (!isDone) resolve(result);
      isDone = true;
    };
    source.on('data', (chunk) => {
      const problem = problemAfter(chunk.length);
      if (problem === null) return void chunks.push(chunk);
      source.removeAllListeners('data');
      source.resume();
      chunks.length = 0;
      finish(problem);
    });
    source.on('end', () => finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    source.on('error', () => finish(null));
    source.on('close', () => finish(null));
  });
}
