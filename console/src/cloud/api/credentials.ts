// The credentials of the console: a token, or a pair of keys that signs each request. They stay in the memory of the page.
import { ApiError } from '../../api/request.ts';

interface KeyPair {
  readonly accessKey: string;
  /** A key whose bytes not even the page can read. */
  readonly secretKey: CryptoKey;
}

export type Credentials = string | KeyPair;

const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const;

export async function keyPair(accessKey: string, secretKey: string): Promise<KeyPair> {
  // Browsers have this interface only for pages that came over TLS or from the same machine.
  if (!globalThis.crypto?.subtle)
    throw new ApiError(
      0,
      'Browsers sign requests only over TLS or on the machine of the cloud: use a token.',
    );
  const bytes = new TextEncoder().encode(secretKey);
  return { accessKey, secretKey: await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']) };
}

export async function headersFor(
  credentials: Credentials,
  method: string,
  target: string,
): Promise<Record<string, string>> {
  if (typeof credentials === 'string') return { authorization: `Bearer ${credentials}` };
  const { pathname, search } = new URL(target, location.href);
  const timestamp = String(Date.now());
  const signed = new TextEncoder().encode(`${method}\n${pathname}${search}\n${timestamp}`);
  const signature = new Uint8Array(await crypto.subtle.sign(algorithm, credentials.secretKey, signed));
  return {
    authorization: `Bearer ${credentials.accessKey}:${btoa(String.fromCharCode(...signature))}`,
    'couchbase-timestamp': timestamp,
  };
}
