// A client of the query port that costs little processor time: one persistent connection, and of an answer only the end is searched.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** The end of a chunked answer. */
const end = Buffer.from('\r\n0\r\n\r\n');
/** How much of the end of an answer is kept; it contains the status. */
const tailBytes = 600;

export class QueryConnection {
  private readonly socket: Socket;
  private readonly head: string;

  private constructor(socket: Socket, { host }: URL, authorization: string) {
    this.socket = socket;
    this.head = [
      'POST /query/service HTTP/1.1',
      `host: ${host}`,
      `authorization: ${authorization}`,
      'content-type: application/json',
      'content-length: ',
    ].join('\r\n');
  }

  static async open(
    address: string,
    account: { username: string; password: string },
  ): Promise<QueryConnection> {
    const url = new URL(address);
    const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    await once(socket, 'connect');
    const token = Buffer.from(`${account.username}:${account.password}`).toString('base64');
    return new QueryConnection(socket, url, `Basic ${token}`);
  }

  /** Runs a statement; returns the bytes of the answer and throws for one with errors. */
  async run(fields: object): Promise<number> {
    const { bytes, last } = await this.ask(fields);
    if (!last.includes('"status":"success"') && !last.includes('"status": "success"'))
      throw new Error(`${JSON.stringify(fields)}: ${last}`);
    return bytes;
  }

  async rows(fields: object): Promise<unknown[]> {
    const { text } = await this.ask(fields, true);
    const body = text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '');
    const answer = JSON.parse(body.trimEnd()) as { results?: unknown[]; errors?: unknown };
    if (answer.errors !== undefined) throw new Error(JSON.stringify(answer.errors));
    return answer.results ?? [];
  }

  close(): void {
    this.socket.destroy();
  }

  /** With `text`, the whole answer, only if `keepsText` is set; `last` is its end. */
  private ask(fields: object, keepsText = false): Promise<{ bytes: number; last: string; text: string }> {
    const { socket } = this;
    const { promise, resolve, reject } = Promise.withResolvers<{
      bytes: number;
      last: string;
      text: string;
    }>();
    let bytes = 0;
    let whole: number | null = null;
    let tail: Buffer = Buffer.alloc(0);
    const chunks: Buffer[] = [];
    const onData = (chunk: Buffer): void => {
      if (bytes === 0) whole = wholeBytes(chunk);
      bytes += chunk.length;
      if (keepsText) chunks.push(chunk);
      tail = chunk.length >= tailBytes ? chunk : Buffer.concat([tail, chunk]);
      tail = tail.subarray(-tailBytes);
      if (whole === null ? !tail.subarray(-end.length).equals(end) : bytes < whole) return;
      resolve({ bytes, last: tail.toString(), text: Buffer.concat(chunks).toString() });
    };
    const onClose = (): void => reject(new Error('the node closed the connection'));
    socket.on('data', onData).on('error', reject).on('close', onClose);
    if (socket.destroyed) onClose();
    const body = JSON.stringify(fields);
    socket.write(`${this.head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return promise.finally(() => socket.off('data', onData).off('error', reject).off('close', onClose));
  }
}

/** Bytes of head and body of the answer whose first bytes these are; null for a chunked answer. */
function wholeBytes(chunk: Buffer): number | null {
  const head = chunk.subarray(0, chunk.indexOf('\r\n\r\n') + 4);
  const length = /content-length: (\d+)/i.exec(head.toString('latin1'))?.[1];
  return length === undefined ? null : head.length + Number(length);
}
