// Errors and warnings of statements as clients see them. Made only by `sqlError` and `sqlErrorWith`, from the catalog of errors.
import { type ErrorCode, texts } from './catalog.ts';

export interface SqlErrorDetails {
  /** Details for clients as plain JSON: `reason` of 12009, `cause` of transactions. */
  readonly reason?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /** The same request may succeed later. */
  readonly isRetryable?: boolean;
}

export class SqlError extends Error {
  override name = 'SqlError';
  readonly code: ErrorCode;
  readonly reason: Readonly<Record<string, unknown>> | undefined;
  readonly isRetryable: boolean;

  constructor(code: ErrorCode, text: string, details: SqlErrorDetails) {
    super(text, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.reason = details.reason;
    this.isRetryable = details.isRetryable ?? false;
  }

  /** The HTTP status of an answer whose first error this is. */
  get status(): number {
    return httpStatusOf(this.code);
  }
}

/** Creates the error of this code; `parts` replace the `{}` of its text in order. */
export function sqlError(code: ErrorCode, ...parts: readonly (string | number)[]): SqlError {
  return new SqlError(code, textOf(code, parts), {});
}

export function sqlErrorWith(
  code: ErrorCode,
  details: SqlErrorDetails,
  ...parts: readonly (string | number)[]
): SqlError {
  return new SqlError(code, textOf(code, parts), details);
}

function textOf(code: ErrorCode, parts: readonly (string | number)[]): string {
  let at = 0;
  return texts[code].replaceAll('{}', () => String(parts[at++] ?? ''));
}

const statuses: Readonly<Record<number, number>> = {
  1000: 403,
  1010: 405,
  1080: 200,
  1120: 406,
  1180: 503,
  1181: 503,
  1182: 503,
  1191: 429,
  1192: 429,
  1193: 413,
  1194: 413,
  4000: 404,
  4040: 404,
  4300: 409,
  10000: 401,
  13014: 401,
};

function httpStatusOf(code: number): number {
  if ((code >= 1020 && code <= 1070) || code === 3000) return 400;
  return statuses[code] ?? 500;
}
