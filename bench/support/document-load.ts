// Sets documents of 1 kB with different keys on a data port, from a separate process, with a window of requests in flight. Prints the
// elapsed time and the processor time of that, as JSON.
import { connect, type Socket } from 'node:net';
import { vbucketOf } from '../../src/client/document-key.ts';
import { Feature } from '../../src/wire/features.ts';
import { headerBytes } from '../../src/wire/frame.ts';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';
import { Status } from '../../src/wire/status.ts';
import { administrator } from '../../test/support/node-process.ts';
import { Opcode } from '../../test/support/opcodes.ts';
import { failIfClosed } from './fail-if-closed.ts';
import { HeaderOffset } from './header-offsets.ts';

export interface DocumentLoad {
  port: number;
  bucket: string;
  count: number;
  /** Requests in flight. */
  window: number;
}

export interface DocumentLoadResult {
  seconds: number;
  /** Processor time of this process. */
  cpuMs: number;
}

const features = Buffer.from([0, Feature.xerror, 0, Feature.json, 0, Feature.collections]);
/** Different values; the documents have them in turn. */
const valueCount = 251;
const words = ['order', 'north', 'paper', 'seven', 'light', 'river', 'stone', 'table', 'green', 'house'];

/** A JSON object of about 1,000 bytes; its text is as compressible as prose of few words. */
export function aValue(index: number): Buffer {
  let seed = index + 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const text = Array.from({ length: 100 }, () => `${words[random(words.length)]}${random(1000)}`).join(' ');
  return Buffer.from(JSON.stringify({ index, price: random(10_000), text: text.slice(0, 960) }));
}

class Loader {
  readonly #socket: Socket;
  readonly #values = Array.from({ length: valueCount }, (_, index) => aValue(index));
  readonly #toRetry: number[] = [];
  #incomplete: Buffer = Buffer.alloc(0);
  #answered: (opaque: number, status: number) => void = () => {};
  /** Sends the requests that the answers of one chunk have made possible. */
  #flush: () => void = () => {};

  constructor(port: number) {
    this.#socket = failIfClosed(connect({ port, host: '127.0.0.1', noDelay: true }));
    this.#socket.on('data', (data) => this.#received(data as Buffer));
  }

  /** Sends a request and waits for its success. */
  async ask(request: RequestParts): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#answered = (_, code) =>
      code === Status.success ? resolve() : reject(new Error(`${request.opcode}: ${code}`));
    this.#socket.write(encodeRequest(request));
    await promise;
  }

  /** Sets `count` documents; a temporary failure is repeated. */
  async setAll(count: number, window: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let next = 0;
    let done = 0;
    const frames: Buffer[] = [];
    const send = () => {
      const index = this.#toRetry.pop() ?? (next < count ? next++ : -1);
      if (index >= 0) frames.push(this.#frame(index));
    };
    this.#answered = (opaque, code) => {
      if (code === Status.success) done++;
      else if (code === Status.temporaryFailure) this.#toRetry.push(opaque);
      else reject(new Error(`a SET was answered with status ${code}`));
      if (done === count) resolve();
      send();
    };
    this.#flush = () => {
      if (frames.length > 0) this.#socket.write(Buffer.concat(frames.splice(0)));
    };
    for (let slot = 0; slot < window; slot++) send();
    this.#flush();
    await promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #frame(index: number): Buffer {
    const key = `document-${index}`;
    const frame = encodeRequest({
      opcode: Opcode.set,
      vb: vbucketOf(key),
      key: Buffer.from(`\0${key}`),
      extras: Buffer.alloc(8),
      value: this.#values[index % valueCount] as Buffer,
    });
    frame.writeUInt32BE(index, HeaderOffset.opaque);
    return frame;
  }

  #received(data: Buffer): void {
    const all = this.#incomplete.length === 0 ? data : Buffer.concat([this.#incomplete, data]);
    let at = 0;
    while (all.length - at >= headerBytes) {
      const bytes = headerBytes + all.readUInt32BE(at + HeaderOffset.bodyBytes);
      if (all.length - at < bytes) break;
      this.#answered(all.readUInt32BE(at + HeaderOffset.opaque), all.readUInt16BE(at + HeaderOffset.status));
      at += bytes;
    }
    this.#incomplete = all.subarray(at);
    this.#flush();
  }
}

async function load({ port, bucket, count, window }: DocumentLoad): Promise<DocumentLoadResult> {
  const loader = new Loader(port);
  const { username, password } = administrator;
  await loader.ask({ opcode: Opcode.hello, value: features });
  await loader.ask({
    opcode: Opcode.saslAuth,
    key: Buffer.from('PLAIN'),
    value: Buffer.from(`\0${username}\0${password}`),
  });
  await loader.ask({ opcode: Opcode.selectBucket, key: Buffer.from(bucket) });
  const [cpuBefore, startedMs] = [process.cpuUsage(), performance.now()];
  await loader.setAll(count, window);
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  loader.close();
  return { seconds, cpuMs: (user + system) / 1000 };
}

if (import.meta.main)
  console.log(JSON.stringify(await load(JSON.parse(process.argv[2] as string) as DocumentLoad)));
