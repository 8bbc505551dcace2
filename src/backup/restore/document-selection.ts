// Which documents of a backup a restore writes, by regular expressions in the syntax of RE2, which match in time linear in the text; and
// with which expiry.
import { RE2JS } from 're2js';
import { BackupError } from '../format/backup-error.ts';
import { type Frame, FrameKind } from '../format/frame.ts';
import { bodyOf, isJsonFrame } from '../inspect/examine.ts';

const ttlModes = ['none', 'all', 'expired'] as const;

export interface SelectionRequest {
  /** Regular expression for keys, of which it may match any part. */
  filterKeys?: string | undefined;
  /** Regular expression for JSON documents as text. Deletions have no value, so that they are left out. */
  filterValues?: string | undefined;
  replaceTtl?: (typeof ttlModes)[number];
  /** Seconds since 1970, 0: never. */
  replaceTtlWith?: number | undefined;
}

const patternCharactersMax = 1_000;
/** The most instructions of an expression: matching may take a step for each instruction at each character of a text. */
const patternSizeMax = 10_000;

export class DocumentSelection {
  /** Versions that the filters left out. */
  filtered = 0;
  private readonly keys: RE2JS | null;
  private readonly values: RE2JS | null;
  private readonly replaceTtl: (typeof ttlModes)[number];
  private readonly expiry: number;
  private readonly nowSeconds: number;

  /** @throws BackupError for an invalid regular expression */
  constructor(request: SelectionRequest, nowMs: number) {
    this.keys = compiled('--filter-keys', request.filterKeys);
    this.values = compiled('--filter-values', request.filterValues);
    this.replaceTtl = request.replaceTtl ?? 'none';
    this.expiry = request.replaceTtlWith ?? 0;
    this.nowSeconds = Math.floor(nowMs / 1_000);
  }

  /** Whether the version is restored. Replaces the expiry in the frame if the request says so. */
  takes(frame: Frame): boolean {
    if (!this.matches(frame)) {
      this.filtered++;
      return false;
    }
    if (frame.kind === FrameKind.mutation && this.replacesExpiry(frame.expiry)) frame.expiry = this.expiry;
    return true;
  }

  private matches(frame: Frame): boolean {
    if (this.keys !== null && !this.keys.test(frame.key.toString())) return false;
    if (this.values === null) return true;
    return (
      frame.kind === FrameKind.mutation && isJsonFrame(frame) && this.values.test(bodyOf(frame).toString())
    );
  }

  private replacesExpiry(expiry: number): boolean {
    if (this.replaceTtl === 'expired') return expiry !== 0 && expiry <= this.nowSeconds;
    return this.replaceTtl === 'all';
  }
}

function compiled(option: string, pattern: string | undefined): RE2JS | null {
  if (pattern === undefined) return null;
  if (pattern.length > patternCharactersMax)
    throw new BackupError(
      `${option}: at most ${patternCharactersMax} characters are allowed, not ${pattern.length}`,
    );
  const expression = tryCompile(option, pattern);
  if (expression.programSize() > patternSizeMax)
    throw new BackupError(`${option}: the expression has too many repetitions; make their counts smaller`);
  return expression;
}

function tryCompile(option: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '');
    throw new BackupError(`${option}: ${reason}; expected a regular expression in the syntax of RE2`);
  }
}
