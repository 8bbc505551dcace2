// CURL(): reads an address that the cluster's allowlist permits, and answers its JSON. The role is checked with the statement.
import { type SqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { StatementMemory } from '#sqlpp/run/held-memory.ts';
import { JsonDepthError, JsonError, parseJson } from '#sqlpp/values/json-parse.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { CurlAllowlist } from '../query.contract.ts';
import { isAllowed } from './allowlist.ts';
import { CurlError, type CurlRequest, readCall } from './curl-options.ts';
import type { HttpReply } from './http-call.adapter.ts';

export interface CurlFunctionOptions {
  readonly allowlist: () => CurlAllowlist;
  /** Rejects with a CurlError. `countBytes` is called with the bytes of each chunk. */
  readonly send: (
    request: CurlRequest,
    signal: AbortSignal,
    countBytes: (bytes: number) => void,
  ) => Promise<HttpReply>;
  readonly userAgent: () => string;
}

/** Calls that all requests of the node may have open at the same time. */
export const curlCallsMax = 16;
/** Bytes of all answers that are being read. */
export const curlBytesMax = 128 << 20;

/** Memory of parsed values for a byte of JSON: about what lists of small numbers and objects need. */
const valueBytesPerByte = 8;

export class CurlFunction {
  private readonly options: CurlFunctionOptions;
  private running = 0;
  private heldBytes = 0;

  constructor(options: CurlFunctionOptions) {
    this.options = options;
  }

  /** Rejects with SqlError 5010, with 5500 above the quota of `memory`, or with the signal's reason. */
  async call(values: readonly Value[], signal: AbortSignal, memory: StatementMemory): Promise<Value> {
    const [address, given] = values;
    if (address === undefined) return undefined;
    if (typeof address !== 'string' || (given !== undefined && !isObject(given))) return null;
    try {
      const { request, isSilent } = readCall(address, given, this.options.userAgent());
      this.checkAllowed(request.url);
      return await this.read(request, signal, memory).catch((error: unknown) => {
        if (isSilent && error instanceof CurlError) return null;
        throw error;
      });
    } catch (error) {
      throw error instanceof CurlError ? evaluationError(error.message) : error;
    }
  }

  private checkAllowed(url: URL): void {
    if (isAllowed(url, this.options.allowlist())) return;
    throw new CurlError(
      `The end point ${url.origin}${url.pathname} is not permitted. List allowed end points in the configuration.`,
    );
  }

  private async read(request: CurlRequest, signal: AbortSignal, memory: StatementMemory): Promise<Value> {
    if (this.running >= curlCallsMax)
      throw new CurlError(`more than ${curlCallsMax} calls run at the same time`);
    this.running++;
    let bytes = 0;
    const countBytes = (chunkBytes: number): void => {
      bytes += chunkBytes;
      this.heldBytes += chunkBytes;
      if (this.heldBytes > curlBytesMax)
        throw new CurlError(`the answers to all calls have more than ${curlBytesMax} bytes`);
    };
    try {
      const { body } = await this.options.send(request, signal, countBytes);
      return jsonWithin(memory, body, request.url);
    } finally {
      this.running--;
      this.heldBytes -= bytes;
    }
  }
}

/** While the text is parsed, an estimate of its value counts against the memory quota of the request; afterwards the statement counts the value itself. */
function jsonWithin(memory: StatementMemory, body: Buffer, url: URL): Value {
  const bytes = body.length * valueBytesPerByte;
  try {
    memory.hold(bytes);
    return jsonOf(body, url);
  } finally {
    memory.release(bytes);
  }
}

/** An empty answer is NULL. */
function jsonOf(body: Buffer, { origin, pathname }: URL): Value {
  if (body.length === 0) return null;
  try {
    return parseJson(body);
  } catch (error) {
    if (error instanceof JsonDepthError) throw new CurlError(`the answer: ${error.message}`);
    if (error instanceof JsonError) throw new CurlError(`Invalid JSON endpoint ${origin}${pathname}`);
    throw error;
  }
}

const isObject = (value: Value): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const evaluationError = (reason: string): SqlError => sqlErrorWith(5010, {}, `CURL(): ${reason}`);
