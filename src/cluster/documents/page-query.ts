// Parses the query for a page of documents.
import { integerOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import { badRequest } from './document-refusals.ts';

export interface DocumentPageQuery {
  readonly skip: number;
  readonly limit: number;
  /** The first possible key if none, or an empty one, was sent. */
  readonly startKey: Buffer;
  /** Null: the page may end with the last key. */
  readonly endKey: Buffer | null;
  readonly includesEnd: boolean;
  readonly withDocuments: boolean;
}

/** The limit of `skip` plus `limit`: the keys of both are in memory while the page is read. */
const keysMax = 10_000;
const limitDefault = 1000;

/** Bytes of the last character, which clients append to a prefix to list every key that begins with it. */
const lastCharacterBytes = 4;

/** `keyBytesMax`: the limit of a key of the collection, without its collection id. */
export function readPageQuery(query: Form, keyBytesMax: number): DocumentPageQuery {
  const skip = countIn(query, 'skip', 0);
  const limit = countIn(query, 'limit', limitDefault);
  if (skip + limit > keysMax)
    throw badRequest(`skip and limit: at most ${keysMax} together; use startkey to go further`);
  return {
    skip,
    limit,
    startKey: startKeyIn(query, keyBytesMax),
    endKey: keyIn(query, 'endkey', keyBytesMax + lastCharacterBytes),
    includesEnd: booleanIn(query, 'inclusive_end', true),
    withDocuments: booleanIn(query, 'include_docs', false),
  };
}

function countIn(query: Form, name: string, otherwise: number): number {
  const sent = query[name];
  const count = sent === undefined ? otherwise : integerOf(sent);
  if (count === null || count < 0 || count > keysMax)
    throw badRequest(`${name}: an integer from 0 to ${keysMax}`);
  return count;
}

function booleanIn(query: Form, name: string, otherwise: boolean): boolean {
  const sent = query[name];
  if (sent === undefined) return otherwise;
  if (sent !== 'true' && sent !== 'false') throw badRequest(`${name}: true or false`);
  return sent === 'true';
}

/** The data service accepts no empty key: the first possible one stands for it. */
function startKeyIn(query: Form, keyBytesMax: number): Buffer {
  const sent = keyIn(query, 'startkey', keyBytesMax);
  return sent === null || sent.length === 0 ? Buffer.alloc(1) : sent;
}

function keyIn(query: Form, name: string, bytesMax: number): Buffer | null {
  const sent = query[name];
  if (sent === undefined) return null;
  const key = parsed(sent);
  if (typeof key === 'string' && Buffer.byteLength(key) <= bytesMax) return Buffer.from(key);
  throw badRequest(`${name}: a JSON string of at most ${bytesMax} bytes, such as "a"`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // refused by the caller
  }
}
