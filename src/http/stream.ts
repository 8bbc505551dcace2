// Streaming answers: each value as JSON and four newlines, chunked. Values are taken from the source only as fast as the
// client reads them, so that a slow reader costs one buffer and not a growing one.
import { Readable } from 'node:stream';

const bufferBytes = 64 << 10;

export function streamBody(source: AsyncIterable<unknown>, signal: AbortSignal): Readable {
  return Readable.from(lines(source, signal), { objectMode: false, highWaterMark: bufferBytes });
}

async function* lines(source: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const value of source) {
      if (signal.aborted) return;
      yield Buffer.from(`${JSON.stringify(value)}\n\n\n\n`);
    }
  } catch (error) {
    // A source may reject with the signal's reason; any other rejection is a failure.
    if (!signal.aborted) throw error;
  }
}
