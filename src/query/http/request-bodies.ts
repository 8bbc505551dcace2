// Limits the bytes of request bodies in memory: of each body, and of all bodies together, counted until their requests are answered.
import { type BodySource, collectBody } from '#http/collect-body.ts';

/** null: the client has closed the connection. */
export type ReadBody = Buffer | 'too large' | 'too many' | null;

export class RequestBodies {
  private readonly totalMax: number;
  private held = 0;

  /** `totalMax`: bytes of all bodies together. */
  constructor(totalMax: number) {
    this.totalMax = totalMax;
  }

  /** Reads a body and counts its bytes until `use` ends. */
  async with<T>(source: BodySource, bytesMax: number, use: (body: ReadBody) => Promise<T>): Promise<T> {
    let bytes = 0;
    try {
      const body = await collectBody(source, (chunkBytes) => {
        bytes += chunkBytes;
        this.held += chunkBytes;
        if (bytes > bytesMax) return 'too large';
        return this.held > this.totalMax ? 'too many' : null;
      });
      return await use(body);
    } finally {
      this.held -= bytes;
    }
  }
}
