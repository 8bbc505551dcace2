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
    source.on('data', (chunk) => {
      const problem = problemAfter(chunk.length);
      if (problem === null) return void chunks.push(chunk);
      source.removeAllListeners('data');
      source.resume();
      chunks.length = 0;
      resolve(problem);
    });
    source.on('end', () => resolve(Buffer.concat(chunks)));
    source.on('error', () => resolve(null));
    source.on('close', () => resolve(null));
  });
}
