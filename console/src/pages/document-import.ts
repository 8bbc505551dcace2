// Imports JSON lines into a collection: a line that cannot be stored is reported with its number, and the others go in.
import { exactObject, withoutFields } from '../../../src/base/exact-json.ts';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { CollectionPath } from './document-pages.ts';

export interface ImportForm {
  /** The member of each line that has the key. */
  readonly keyField: string;
  /** Whether documents are stored without that member. */
  readonly dropsKey: boolean;
}

export interface Refusal {
  readonly line: number;
  readonly problem: string;
}

export interface ImportState {
  readonly written: number;
  readonly refused: number;
  /** The first refusals. */
  readonly refusals: readonly Refusal[];
  /** The share of the file that was read. */
  readonly share: number;
}

/** Lines that are sent at the same time: as many as browsers have connections to one node. */
const requestsMax = 6;
const refusalsShown = 100;
/** The limit of the REST API for a document with its form. */
const lineBytesMax = 10 << 20;
const attemptsMax = 20;
const retryMs = 500;

/** Resolves after the last line. Rejects where no line can be stored, and on abort; what was stored stays. */
export async function importLines(
  file: Blob,
  path: CollectionPath,
  form: ImportForm,
  signal: AbortSignal,
  onState: (state: ImportState) => void,
): Promise<void> {
  const failure = new AbortController();
  const stop = AbortSignal.any([signal, failure.signal]);
  let written = 0;
  let refused = 0;
  const refusals: Refusal[] = [];
  const lines = linesOf(file);
  const worker = async () => {
    for (;;) {
      const { value: line, done } = await lines.next();
      if (done) return;
      stop.throwIfAborted();
      const problem = await importLine(line, path, form, stop);
      if (problem === null) written++;
      else {
        refused++;
        if (refusals.length < refusalsShown) refusals.push({ line: line.number, problem });
      }
      onState({ written, refused, refusals, share: line.end / Math.max(1, file.size) });
    }
  };
  try {
    await Promise.all(
      Array.from({ length: requestsMax }, () =>
        worker().catch((error) => {
          failure.abort();
          throw error;
        }),
      ),
    );
  } finally {
    await lines.return(undefined);
  }
}

/** Resolves with what is wrong with the line; null once it is stored. */
async function importLine(
  { content }: Line,
  path: CollectionPath,
  form: ImportForm,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    if (content === null) return `is longer than ${lineBytesMax >> 20} MiB`;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
    const key = keyIn(text, form.keyField);
    const value = form.dropsKey ? withoutFields(text, [form.keyField]) : text;
    await store({ ...path, document: key }, value, signal);
    return null;
  } catch (error) {
    if (error instanceof LineError) return error.message;
    if (error instanceof SyntaxError) return `is not JSON: ${error.message}`;
    if (error instanceof TypeError) return 'is not UTF-8';
    if (error instanceof ApiError && [400, 409, 413].includes(error.status)) return error.message;
    throw error;
  }
}

class LineError extends Error {}

function keyIn(text: string, field: string): string {
  const value = exactObject(text);
  if (value === null) throw new LineError('is not an object');
  const key = Object.hasOwn(value, field) ? value[field] : undefined;
  if (typeof key === 'string' && key !== '') return key;
  const digits = JSON.stringify(key) ?? '';
  if (/^-?\d/.test(digits)) return digits;
  throw new LineError(`has no text or number in the field “${field}”, which is its key`);
}

async function store(
  path: Readonly<Record<string, string>>,
  value: string,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await call(routes.storeDocument, { path, form: { value }, signal });
      return;
    } catch (error) {
      const isBusy = error instanceof ApiError && error.status === 503;
      if (!isBusy || attempt === attemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
      signal.throwIfAborted();
    }
  }
}

interface Line {
  readonly number: number;
  /** Null: the line is too long. */
  readonly content: Uint8Array | null;
  /** The bytes of the file up to the end of the line. */
  readonly end: number;
}

const newLine = 10;

/** The lines that are not blank. A file of any size takes the memory of its longest line. */
async function* linesOf(file: Blob): AsyncGenerator<Line, void, undefined> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let number = 0;
  let end = 0;
  const line = (): Line | null => {
    const isTooLong = pendingBytes > lineBytesMax;
    const content = isTooLong ? null : joined(pending, pendingBytes);
    pending = [];
    pendingBytes = 0;
    number++;
    return content !== null && isBlank(content) ? null : { number, content, end };
  };
  const add = (part: Uint8Array) => {
    pendingBytes += part.length;
    end += part.length;
    if (pendingBytes <= lineBytesMax) pending.push(part);
  };
  const reader = file.stream().getReader();
  try {
    for (;;) {
      const { value: chunk, done } = await reader.read();
      if (done) break;
      let from = 0;
      for (let at = chunk.indexOf(newLine); at !== -1; at = chunk.indexOf(newLine, from)) {
        add(chunk.subarray(from, at + 1));
        from = at + 1;
        const next = line();
        if (next) yield next;
      }
      add(chunk.subarray(from));
    }
    const last = pendingBytes > 0 ? line() : null;
    if (last) yield last;
  } finally {
    await reader.cancel();
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The space; the characters below it are blank, or belong to no document. */
const blankMax = 32;

const isBlank = (content: Uint8Array): boolean => content.every((byte) => byte <= blankMax);
