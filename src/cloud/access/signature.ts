// The signed form of credentials that published clients send: Bearer <access key>:<signature>, with the time in a header of
// its own. The signature is base64 of HMAC-SHA256, under the secret key, over method, path with query, and that time.
import { createHmac, timingSafeEqual } from 'node:crypto';

export const timestampHeader = 'couchbase-timestamp';
const clockDifferenceMaxMs = 5 * 60 * 1000;
/** Numbers up to this are seconds: as milliseconds they would be in April 1970. */
const secondsMax = 10_000_000_000;

/** The signed parts of a request. */
export interface SignedParts {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** `Host` header: one published client signs the whole URL if the host is not the default one. */
  readonly host: string | undefined;
  readonly timestamp: string;
}

export function signatureOf(secretKey: string, method: string, target: string, timestamp: string): string {
  return createHmac('sha256', secretKey).update(`${method}\n${target}\n${timestamp}`).digest('base64');
}

/** The problem with the timestamp, or null. Clients send seconds or milliseconds. */
export function timestampProblem(timestamp: string | undefined, nowMs: number): string | null {
  if (timestamp === undefined) return 'a signed request needs the header Couchbase-Timestamp';
  if (!/^\d{1,15}$/.test(timestamp))
    return 'Couchbase-Timestamp must be Unix time in seconds or milliseconds';
  const value = Number(timestamp);
  const ms = value <= secondsMax ? value * 1000 : value;
  if (Math.abs(nowMs - ms) <= clockDifferenceMaxMs) return null;
  return `Couchbase-Timestamp differs from the server's time by ${Math.round(Math.abs(nowMs - ms) / 1000)} s; at most 300 s are allowed`;
}

export function isSignature(signature: string, secretKey: string, signed: SignedParts): boolean {
  const { method, target, host, timestamp } = signed;
  const targets = [
    target,
    ...(host === undefined ? [] : [`http://${host}${target}`, `https://${host}${target}`]),
  ];
  // Compute all forms, so that the duration does not reveal which one matches.
  const matches = targets.map((each) => isSame(signature, signatureOf(secretKey, method, each, timestamp)));
  return matches.includes(true);
}

function isSame(sent: string, expected: string): boolean {
  const [a, b] = [Buffer.from(sent), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
