// Encodes the documents that a statement writes, large ones in parts, between which other requests have the thread.
import { sqlError } from '../errors/sql-error.ts';
import { jsonText } from '../values/json-text.ts';
import { isLargeValue, textParts } from '../values/text-steps.ts';
import { Binary, RawJson, type Value } from '../values/value.ts';
import type { Run } from './run.ts';
import type { RowChange, RowWrite } from './statement.ts';

const encoder = new TextEncoder();
const noBytes = new Uint8Array();
/** More than the largest document that the data service stores: between the two sizes, the data service refuses the document. */
const documentBytesMax = 64 << 20;

export function documentBytes(value: Value): Uint8Array {
  return bytesAtHand(value) ?? encoder.encode(jsonText(value));
}

/** The bytes of unparsed JSON and of a binary value; undefined: the value must be encoded. */
function bytesAtHand(value: Value): Uint8Array | undefined {
  if (value instanceof RawJson) return value.bytes.subarray(value.start, value.end);
  return value instanceof Binary ? value.bytes : undefined;
}

export async function* encoded(
  run: Run,
  batches: AsyncIterable<readonly RowChange[]>,
): AsyncGenerator<readonly RowWrite[]> {
  for await (const changes of batches) {
    const writes: RowWrite[] = [];
    const large: number[] = [];
    await run.each(changes, (change, at) => {
      const { value, write } = change;
      const isLarge = write.kind !== 'delete' && bytesAtHand(value) === undefined && isLargeValue(value);
      if (isLarge) large.push(at);
      const bytes = isLarge || write.kind === 'delete' ? noBytes : documentBytes(value);
      writes.push({ ...change, write: { ...write, bytes } });
    });
    for (const at of large) {
      const each = writes[at] as RowWrite;
      writes[at] = { ...each, write: { ...each.write, bytes: await bytesInParts(run, each.value) } };
    }
    yield writes;
  }
}

async function bytesInParts(run: Run, value: Value): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const text of textParts(value)) {
    const part = encoder.encode(text);
    length += part.length;
    if (length > documentBytesMax) throw sqlError(5035, 'a value that is too large');
    parts.push(part);
    await run.yieldIfDue();
  }
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
    await run.yieldIfDue();
  }
  return bytes;
}
