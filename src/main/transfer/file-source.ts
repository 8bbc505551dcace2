// The records of a file or of standard input. Chunks are read as the consumer takes the records, so that memory never holds all of a large file.
import { createReadStream, statSync } from 'node:fs';
import { UsageError } from '../options.ts';
import { CsvParser } from './csv-parser.ts';
import { JsonLinesParser } from './json-lines-parser.ts';
import { JsonListParser } from './json-list-parser.ts';
import type { SourceParser, SourceRecord, StartPosition } from './source-record.ts';

/** JSON lines (one value on each line), a JSON list, or CSV. */
export type FileFormat = 'lines' | 'list' | 'csv';

const chunkBytes = 256 << 10;

export interface SourceFile {
  /** `-`: standard input. */
  readonly path: string;
  readonly format: FileFormat;
  readonly separator: string;
}

export async function* recordsOf(source: SourceFile, start: StartPosition): AsyncGenerator<SourceRecord> {
  const parser = parserOf(source, start);
  const stream =
    source.path === '-'
      ? process.stdin
      : createReadStream(source.path, { start: start.offset, highWaterMark: chunkBytes });
  for await (const chunk of stream) yield* parser.push(chunk as Buffer);
  yield* parser.end();
}

function parserOf({ format, separator }: SourceFile, start: StartPosition): SourceParser {
  if (format === 'csv') return new CsvParser(start, separator);
  return format === 'list' ? new JsonListParser(start) : new JsonLinesParser(start);
}

/** Size and time of the last change; null for standard input. @throws UsageError if it cannot be read */
export function fileState(path: string): { bytes: number; changedMs: number } | null {
  if (path === '-') return null;
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw new Error('it is a folder');
    if (found.isFIFO() || found.isSocket()) throw new Error('a pipe is read as standard input: give -');
    return { bytes: found.size, changedMs: Math.floor(found.mtimeMs) };
  } catch (error) {
    throw new UsageError(`FILE: cannot read ${path}: ${(error as Error).message}`);
  }
}

/** The separator of the cells of CSV, by the end of the file's name. */
export const separatorOf = (file: string): string => (file.endsWith('.tsv') ? '\t' : ',');

/** The format, by the end of the file's name. */
export function formatOf(file: string): FileFormat {
  if (/\.(csv|tsv)$/.test(file)) return 'csv';
  return file.endsWith('.json') ? 'list' : 'lines';
}
