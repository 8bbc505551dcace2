// A client of the data port for tests: sends frames, returns replies in the order of arrival.
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { deferred } from '#base/deferred.ts';
import { emptyFrame, FrameResult, frameBytesMax, responseStatus } from '#wire/frame.ts';
import { FrameReader } from '#wire/frame-reader.ts';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { Opcode } from './opcodes.ts';

export interface Reply {
  magic: number;
  opcode: number;
  status: number;
  opaque: number;
  datatype: number;
  cas: bigint;
  framing: Buffer;
  extras: Buffer;
  key: Buffer;
  value: Buffer;
}

/** Far above the time of any answer, also on a busy machine: only a test that hangs reaches it. */
const replyTimeoutMs = 60_000;

export class KvConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  private readonly reader = new FrameReader(frameBytesMax);
  private readonly frame = emptyFrame();
  private readonly replies: Reply[] = [];
  private readonly waiting: ((reply: Reply | null) => void)[] = [];
  private isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    const { promise, resolve } = deferred<void>();
    this.closed = promise;
    socket.on('data', (chunk: Buffer) => this.received(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      for (const give of this.waiting.splice(0)) give(null);
      resolve();
    });
  }

  static async open(port: number, tls?: { ca: string }, host = '127.0.0.1'): Promise<KvConnection> {
    const socket = tls
      ? connectTls({ port, host, ca: tls.ca, checkServerIdentity: () => undefined })
      : connect({ port, host });
    const { promise, resolve, reject } = deferred<void>();
    socket.once(tls ? 'secureConnect' : 'connect', resolve).once('error', reject);
    await promise;
    socket.setNoDelay(true);
    return new KvConnection(socket);
  }

  send(...requests: RequestParts[]): void {
    this.socket.write(Buffer.concat(requests.map(encodeRequest)));
  }

  /** The next reply; null when the connection ends instead. */
  async next(): Promise<Reply | null> {
    const reply = this.replies.shift();
    if (reply) return reply;
    if (this.isClosed) return null;
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no reply within ${replyTimeoutMs} ms`)),
        replyTimeoutMs,
      );
      this.waiting.push((received) => {
        clearTimeout(timer);
        resolve(received);
      });
    });
  }

  /** Sends one request and waits for its reply. */
  async ask(request: RequestParts): Promise<Reply> {
    this.send(request);
    const reply = await this.next();
    if (!reply) throw new Error('the connection was closed instead of a reply');
    return reply;
  }

  async hello(features: readonly number[]): Promise<Reply> {
    const value = Buffer.alloc(features.length * 2);
    for (const [index, code] of features.entries()) value.writeUInt16BE(code, index * 2);
    return await this.ask({ opcode: Opcode.hello, key: Buffer.from('test'), value });
  }

  async plain(user: string, password: string): Promise<Reply> {
    return await this.ask({
      opcode: Opcode.saslAuth,
      key: Buffer.from('PLAIN'),
      value: Buffer.from(`\0${user}\0${password}`),
    });
  }

  /** Runs a SCRAM exchange; returns the last reply and whether the server's proof is valid. */
  async scram(
    mechanism: string,
    user: string,
    password: string,
  ): Promise<{ reply: Reply; isProven: boolean }> {
    const { reply, finish } = await this.beginScram(mechanism, user, password);
    return reply.status === Status.authContinue ? await finish() : { reply, isProven: false };
  }

  /** The first half of a SCRAM exchange, and a function for the second. */
  async beginScram(mechanism: string, user: string, password: string) {
    const hash =
      { 'SCRAM-SHA1': 'sha1', 'SCRAM-SHA256': 'sha256', 'SCRAM-SHA512': 'sha512' }[mechanism] ?? '';
    const name = user.replaceAll('=', '=3D').replaceAll(',', '=2C');
    const bare = `n=${name},r=0x3e 0xffffff90 nonce`;
    const key = Buffer.from(mechanism);
    const first = await this.ask({ opcode: Opcode.saslAuth, key, value: Buffer.from(`n,,${bare}`) });
    const finish = async () => {
      const { last, expected } = proofOf(hash, password, bare, first.value.toString());
      const reply = await this.ask({ opcode: Opcode.saslStep, key, value: Buffer.from(last) });
      return { reply, isProven: reply.value.toString() === expected };
    };
    return { reply: first, finish };
  }

  async select(bucket: string): Promise<Reply> {
    return await this.ask({ opcode: Opcode.selectBucket, key: Buffer.from(bucket) });
  }

  close(): void {
    this.socket.destroy();
  }

  private received(chunk: Buffer): void {
    this.reader.feed(chunk, 0, chunk.length);
    while (this.reader.next(this.frame) === FrameResult.whole) this.deliver(this.copy());
    this.reader.copyUnread();
  }

  private copy(): Reply {
    const { frame } = this;
    const part = (start: number, end: number) => Buffer.from(frame.buffer.subarray(start, end));
    return {
      magic: frame.magic,
      opcode: frame.opcode,
      status: responseStatus(frame),
      opaque: frame.opaque,
      datatype: frame.datatype,
      cas: (BigInt(frame.casHi) << 32n) | BigInt(frame.casLo),
      framing: part(frame.framingStart, frame.extrasStart),
      extras: part(frame.extrasStart, frame.keyStart),
      key: part(frame.keyStart, frame.valueStart),
      value: part(frame.valueStart, frame.end),
    };
  }

  private deliver(reply: Reply): void {
    const waiting = this.waiting.shift();
    if (waiting) waiting(reply);
    else this.replies.push(reply);
  }
}

/** The client's last message of a SCRAM exchange, and what the server must answer to it. */
function proofOf(hash: string, password: string, bare: string, challenge: string) {
  const [, nonce = '', salt = '', count = ''] = /^r=(.*),s=(.*),i=(\d+)$/.exec(challenge) ?? [];
  const bytes = createHash(hash).digest().length;
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(count), bytes, hash);
  const mac = (secret: Buffer, text: string) => createHmac(hash, secret).update(text).digest();
  const clientKey = mac(salted, 'Client Key');
  const withoutProof = `c=biws,r=${nonce}`;
  const message = `${bare},${challenge},${withoutProof}`;
  const signature = mac(createHash(hash).update(clientKey).digest(), message);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
  return {
    last: `${withoutProof},p=${proof.toString('base64')}`,
    expected: `v=${mac(mac(salted, 'Server Key'), message).toString('base64')}`,
  };
}
