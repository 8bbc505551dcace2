// Generated names of prepared statements contain the statement. SDKs cache names; after a restart of the node they would get
// error 4040, after which the C++ client library (Node.js, Python, PHP, Ruby) loses the query's answer.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

export interface NamedStatement {
  readonly text: string;
  readonly queryContext: string;
}

const prefix = 'statement:';
/** Clients send the name with each request, so that longer statements get a random name. */
const nameMax = 2_048;
const textBytesMax = 64 << 10;

/** null for a statement that is too long. */
export function nameOfStatement({ text, queryContext }: NamedStatement): string | null {
  const bytes = Buffer.from(JSON.stringify([text, queryContext]));
  if (bytes.length > textBytesMax) return null;
  const name = prefix + deflateRawSync(bytes).toString('base64url');
  return name.length > nameMax ? null : name;
}

/** null for any other name. */
export function statementOfName(name: string): NamedStatement | null {
  if (!name.startsWith(prefix) || name.length > nameMax) return null;
  try {
    const bytes = inflateRawSync(Buffer.from(name.slice(prefix.length), 'base64url'), {
      maxOutputLength: textBytesMax,
    });
    const parts: unknown = JSON.parse(bytes.toString());
    if (!Array.isArray(parts) || parts.length !== 2) return null;
    const [text, queryContext]: unknown[] = parts;
    return typeof text === 'string' && typeof queryContext === 'string' ? { text, queryContext } : null;
  } catch {
    return null; // neither deflated nor JSON
  }
}
