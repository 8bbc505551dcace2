// Limits the bytes of request bodies in memory: of each body, and of all bodies together, counted until their requests are answered.
import { type BodySource, collectBody } from '#http/collect-body.ts';

/** `too large`: this body; `too many`: all bodies together; null: the client has closed the connection. */
export type ReadBody = Buffer | 'too large' | 'too many' | null;

export class RequestBodies {
  private readonly totalBytesMax: number;
  private heldBytes = 0;

  /** `totalBytesMax`: the limit of all bodies together. */
  constructor(totalBytesMax: number) {
    this.totalBytesMax = totalBytesMax;
  }

  /** Reads a body and counts its bytes until `use` ends. */
  async with<T>(source: BodySource, bytesMax: number, use: (body: ReadBody) => Promise<T> | T): Promise<T> {
    let bytes = 0;
    try {
      const body = await collectBody(source, (chunkBytes) => {
        bytes += chunkBytes;
        this.heldBytes += chunkBytes;
        if (bytes > bytesMax) return 'too large';
        return this.heldBytes > this.totalBytesMax ? 'too many' : null;
      });
      return await use(body);
    } finally {
      this.heldBytes -= bytes;
    }
  }
}
