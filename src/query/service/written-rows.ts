// Writes rows to an answer, with pauses for other requests where their text is long.
import { untilAborted } from '#ports/within.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { AnswerWriter } from '../answer/answer-writer.ts';
import type { Engine } from '../state/engine-port.ts';
import type { RequestSlices } from '../state/time-slices.ts';

/** After this many characters of rows, whose writing takes a few milliseconds, other requests run. */
const pauseCharacters = 256 << 10;
/** A part of a long row counts as at least this many characters. */
const partCharacters = 64 << 10;

interface RowsTarget {
  readonly engine: Pick<Engine, 'textOf' | 'partsOf'>;
  readonly writer: Pick<AnswerWriter, 'row' | 'beginRow' | 'isReady' | 'ready'>;
  readonly slices: Pick<RequestSlices, 'pause'> | null;
  readonly signal: AbortSignal;
}

/** Undefined: all rows are written. The promise rejects when the request is aborted. */
export function writeRows(batch: readonly Value[], target: RowsTarget, from = 0): Promise<void> | undefined {
  const { engine, writer } = target;
  let characters = 0;
  for (let at = from; at < batch.length; at++) {
    const parts = engine.partsOf(batch[at]);
    if (parts !== null) return writeLong(parts, batch, target, at + 1);
    const text = engine.textOf(batch[at]);
    writer.row(text);
    characters += text.length;
    if (characters >= pauseCharacters && at + 1 < batch.length) return writeRest(batch, target, at + 1);
  }
  return undefined;
}

async function writeRest(batch: readonly Value[], target: RowsTarget, from: number): Promise<void> {
  await target.slices?.pause();
  target.signal.throwIfAborted();
  await writeRows(batch, target, from);
}

/** Writes one row, then those from `from` on. The row is written to its end when the request is aborted meanwhile: the answer remains valid JSON. */
async function writeLong(
  parts: Iterable<string>,
  batch: readonly Value[],
  target: RowsTarget,
  from: number,
): Promise<void> {
  const { writer, slices, signal } = target;
  let row: ReturnType<AnswerWriter['beginRow']> | undefined;
  let characters = 0;
  for (const part of parts) {
    if (part !== '') (row ??= writer.beginRow()).text(part);
    characters += Math.max(part.length, partCharacters);
    if (characters < pauseCharacters) continue;
    characters = 0;
    await slices?.pause();
    if (row === undefined) signal.throwIfAborted();
    // After the request was aborted the rest waits in memory for the client.
    if (!writer.isReady && !signal.aborted) await untilAborted(signal, writer.ready()).catch(() => {});
  }
  if (from < batch.length) await writeRest(batch, target, from);
}
