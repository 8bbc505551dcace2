// Names of prepared statements for which the client gave none: they hold the statement. SDKs keep names, and after a restart of the node
// they know of no other way back than error 4040, on which the C++ client library (Node.js, Python, PHP, Ruby) loses the query's answer.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

export interface NamedStatement {
  readonly text: string;
  readonly queryContext: string;
}

const prefix = 'statement:';
/** Sent with each request: longer statements have a name that says nothing. */
const nameMax = 2_048;
const textBytesMax = 64 << 10;

/** null: too long. */
export function nameOfStatement({ text, queryContext }: NamedStatement): string | null {
  const bytes = Buffer.from(JSON.stringify([text, queryContext]));
  if (bytes.length > textBytesMax) return null;
  const name = prefix + deflateRawSync(bytes).toString('base64url');
  return name.length > nameMax ? null : name;
}

/** null: not such a name. */
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
