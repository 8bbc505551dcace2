// The options of CURL(): an object with the long or short names of curl's own options, with or without leading hyphens.
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';

export interface CurlRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly connectMs: number;
  readonly totalMs: number;
  /** The largest answer. */
  readonly bytesMax: number;
}

/** Why a call is refused; the text names the option. */
export class CurlError extends Error {}

export const curlLimits = {
  urlLength: 8_192,
  dataLength: 4 << 20,
  headers: 100,
  headerLength: 8_192,
  connectMs: 30_000,
  /** The default of the option `max-time`, and its maximum. */
  totalMs: 120_000,
  totalMsMax: 600_000,
  /** The default of the option `result-cap`, and its maximum: the size of the largest document, since both are parsed in one piece. */
  resultBytes: 20 << 20,
  resultBytesMax: 20 << 20,
} as const;

/** The values of the options, collected before the request is built from them. */
interface Draft {
  method: 'GET' | 'POST' | null;
  sendsDataInUrl: boolean;
  readonly data: string[];
  /** Characters of all `data` options, joined. */
  dataLength: number;
  readonly headers: Record<string, string>;
  connectMs: number;
  totalMs: number;
  bytesMax: number;
  /** A failure is NULL instead of an error. */
  isSilent: boolean;
}

type Read = (value: Value, draft: Draft, name: string) => void;

const readData: Read = (value, draft, name) => {
  for (const text of textsOf(value, name)) addData(draft, text, name);
};

const readEncodedData: Read = (value, draft, name) => {
  for (const text of textsOf(value, name)) {
    checkDataLength(draft.dataLength + text.length, name);
    const at = text.indexOf('=');
    // Like in curl, what is before an equals sign is a name, which is not encoded.
    const [before, rest] = at < 0 ? ['', text] : [text.slice(0, at + (at > 0 ? 1 : 0)), text.slice(at + 1)];
    addData(draft, before + encodeURIComponent(rest.toWellFormed()), name);
  }
};

const readHeaders: Read = (value, draft, name) => {
  for (const text of textsOf(value, name)) {
    const at = text.indexOf(':');
    if (at < 1) throw new CurlError(`${name}: a header has the form "Name: value"`);
    addHeader(draft, text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim(), name);
  }
};

const readUser: Read = (value, draft, name) => {
  const text = textOf(value, name);
  if (!text.includes(':')) throw new CurlError(`${name}: it must be "user:password"`);
  addHeader(draft, 'authorization', `Basic ${Buffer.from(text).toString('base64')}`, name);
};

const options: Readonly<Record<string, Read>> = {
  request: (value, draft, name) => {
    const method = textOf(value, name);
    if (method !== 'GET' && method !== 'POST') throw new CurlError(`${name}: it must be "GET" or "POST"`);
    draft.method = method;
  },
  get: (value, draft, name) => {
    draft.sendsDataInUrl = flagOf(value, name);
  },
  data: readData,
  'data-urlencode': readEncodedData,
  header: readHeaders,
  user: readUser,
  // Basic authentication is what `user` does.
  basic: (value, _draft, name) => {
    if (!flagOf(value, name)) throw new CurlError(`${name}: there is no other authentication than basic`);
  },
  insecure: (value, _draft, name) => {
    if (flagOf(value, name)) throw new CurlError(`${name}: certificates are always verified`);
  },
  'user-agent': (value, draft, name) => addHeader(draft, 'user-agent', textOf(value, name), name),
  'connect-timeout': (value, draft, name) => {
    draft.connectMs = secondsOf(value, name, curlLimits.connectMs) * 1000 || curlLimits.connectMs;
  },
  'max-time': (value, draft, name) => {
    draft.totalMs = secondsOf(value, name, curlLimits.totalMsMax) * 1000 || curlLimits.totalMs;
  },
  'result-cap': (value, draft, name) => {
    draft.bytesMax = numberOf(value, name, 1, curlLimits.resultBytesMax);
  },
  silent: (value, draft, name) => {
    draft.isSilent = flagOf(value, name);
  },
  'show-error': (value, draft, name) => {
    draft.isSilent = !flagOf(value, name);
  },
};

const synonyms: Readonly<Record<string, string>> = {
  X: 'request',
  G: 'get',
  d: 'data',
  headers: 'header',
  H: 'header',
  k: 'insecure',
  A: 'user-agent',
  m: 'max-time',
  s: 'silent',
  S: 'show-error',
};

/** Names that frame a message, choose another host, or belong to one connection. */
const refusedHeaders: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
  'accept-encoding',
]);

export interface ReadCall {
  readonly request: CurlRequest;
  readonly isSilent: boolean;
}

/** The most characters that an error shows of an unknown option. */
const shownNameMax = 100;

/** @throws CurlError */
export function readCall(address: string, given: Value, userAgent: string): ReadCall {
  const draft: Draft = {
    method: null,
    sendsDataInUrl: false,
    data: [],
    dataLength: 0,
    headers: { accept: '*/*', 'user-agent': userAgent, 'accept-encoding': 'identity' },
    connectMs: curlLimits.connectMs,
    totalMs: curlLimits.totalMs,
    bytesMax: curlLimits.resultBytes,
    isSilent: false,
  };
  for (const [sent, value] of Object.entries((given ?? {}) as Record<string, Value>)) {
    const name = nameOf(sent);
    const read = Object.hasOwn(options, name) ? options[name] : undefined;
    if (read === undefined) throw new CurlError(`option ${sent.slice(0, shownNameMax)}: it is not supported`);
    read(value, draft, name);
  }
  return { request: requestOf(urlOf(address), draft), isSilent: draft.isSilent };
}

function nameOf(sent: string): string {
  const name = sent.replace(/^--?/, '').replaceAll('_', '-');
  return Object.hasOwn(synonyms, name) ? (synonyms[name] as string) : name;
}

/** @throws CurlError */
export function urlOf(address: string): URL {
  if (address.length > curlLimits.urlLength)
    throw new CurlError(`url: it must have at most ${curlLimits.urlLength} characters`);
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new CurlError('url: it must be an http or https address');
  if (url.username !== '' || url.password !== '')
    throw new CurlError('url: name and password belong in the option user');
  url.hash = '';
  return url;
}

function requestOf(url: URL, draft: Draft): CurlRequest {
  const { method, sendsDataInUrl, headers, connectMs, totalMs, bytesMax } = draft;
  const data = draft.data.join('&');
  const limits = { connectMs, totalMs, bytesMax };
  if (draft.data.length === 0) return { method: method ?? 'GET', url, headers, body: null, ...limits };
  if (sendsDataInUrl) {
    url.search += `${url.search === '' ? '?' : '&'}${data}`;
    return { method: method ?? 'GET', url: urlOf(url.href), headers, body: null, ...limits };
  }
  const typed = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return { method: method ?? 'POST', url, headers: typed, body: data, ...limits };
}

/** Checks the limit for each item, so that a list of too many items is refused before they are joined. */
function addData(draft: Draft, text: string, name: string): void {
  draft.dataLength += text.length + (draft.data.length > 0 ? 1 : 0);
  checkDataLength(draft.dataLength, name);
  draft.data.push(text);
}

function checkDataLength(length: number, name: string): void {
  if (length > curlLimits.dataLength)
    throw new CurlError(`${name}: it must have at most ${curlLimits.dataLength} characters`);
}

function addHeader({ headers }: Draft, header: string, value: string, name: string): void {
  if (!/^[!#$%&'*+.^_`|~a-z0-9-]+$/.test(header) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw new CurlError(`${name}: the name or the value of a header has a character that it must not have`);
  if (refusedHeaders.has(header)) throw new CurlError(`${name}: the header ${header} cannot be set`);
  if (value.length > curlLimits.headerLength)
    throw new CurlError(`${name}: a header must have at most ${curlLimits.headerLength} characters`);
  headers[header] = value;
  if (Object.keys(headers).length > curlLimits.headers)
    throw new CurlError(`${name}: there may be at most ${curlLimits.headers} headers`);
}

function textOf(value: Value, name: string): string {
  if (typeof value === 'string') return value;
  throw new CurlError(`${name}: it must be a string`);
}

/** A text, or a list of texts; other values in it are sent as JSON. */
function* textsOf(value: Value, name: string): Iterable<string> {
  if (typeof value === 'string') return yield value;
  if (!Array.isArray(value)) throw new CurlError(`${name}: it must be a string or a list of strings`);
  for (const item of value as Value[]) yield typeof item === 'string' ? item : jsonText(item);
}

function flagOf(value: Value, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new CurlError(`${name}: it must be true or false`);
}

function numberOf(value: Value, name: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new CurlError(`${name}: it must be a whole number from ${min} to ${max}`);
}

/** 0: the default. */
const secondsOf = (value: Value, name: string, maxMs: number): number =>
  numberOf(value, name, 0, maxMs / 1000);
