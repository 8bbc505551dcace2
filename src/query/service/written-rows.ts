// Writes rows to an answer, with pauses for other requests where their text is long.
import type { Value } from '#sqlpp/values/value.ts';
import type { AnswerWriter } from '../answer/answer-writer.ts';
import type { Engine } from '../state/engine-port.ts';
import type { RequestSlices } from '../state/time-slices.ts';

/** The text of a batch after which others run: a tenth of a second, for rows that are arrays of numbers. */
const pauseCharacters = 1 << 20;

interface RowsTarget {
  readonly engine: Pick<Engine, 'textOf'>;
  readonly writer: Pick<AnswerWriter, 'row'>;
  readonly slices: Pick<RequestSlices, 'pause'> | null;
  readonly signal: AbortSignal;
}

/** Undefined: all rows are written. The promise rejects when the request is aborted. */
export function writeRows(batch: readonly Value[], target: RowsTarget, from = 0): Promise<void> | undefined {
  const { engine, writer } = target;
  let characters = 0;
  for (let at = from; at < batch.length; at++) {
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
