// Messages over a TLS connection: four bytes of length, then JSON.
import type { TLSSocket } from 'node:tls';
import type { Channel } from './channel.ts';

/** Limit of one message, for both sides; the whole configuration is smaller. */
export const messageBytesMax = 32 * 1024 * 1024;
/** Bytes that may wait for a slow receiver; above, the connection is closed. */
const unsentBytesMax = 128 * 1024 * 1024;
const lengthBytes = 4;

export class TlsChannel implements Channel {
  readonly #socket: TLSSocket;
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #reason = 'the connection was closed';

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      this.#reason = `the connection was lost: ${error.message}`;
    });
  }

  send(message: object): void {
    const body = Buffer.from(JSON.stringify(message));
    // The receiver would close the connection, with all other requests on it.
    if (body.length > messageBytesMax)
      throw new Error(`a message of ${body.length} bytes; at most ${messageBytesMax} are sent`);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(body.length);
    this.#socket.write(Buffer.concat([length, body]));
    if (this.#socket.writableLength > unsentBytesMax) this.#end('the receiver is too slow');
  }

  receive({ message, closed }: Parameters<Channel['receive']>[0]): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received.push(chunk);
      this.#receivedBytes += chunk.length;
      try {
        for (let next = this.#next(); next !== undefined; next = this.#next()) message(next);
      } catch (error) {
        this.#end((error as Error).message);
      }
    });
    this.#socket.on('close', () => closed(this.#reason));
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(reason: string): void {
    this.#reason = reason;
    this.#socket.destroy();
  }

  /** The next message; undefined until it has arrived whole. */
  #next(): unknown {
    if (this.#receivedBytes < lengthBytes) return undefined;
    const [first = Buffer.alloc(0)] = this.#received;
    const head = first.length >= lengthBytes ? first : Buffer.concat(this.#received);
    const length = head.readUInt32BE(0);
    if (length > messageBytesMax)
      throw new Error(`a message of ${length} bytes; at most ${messageBytesMax} are accepted`);
    if (this.#receivedBytes < lengthBytes + length) return undefined;
    const bytes = Buffer.concat(this.#received);
    const rest = bytes.subarray(lengthBytes + length);
    this.#received = rest.length === 0 ? [] : [rest];
    this.#receivedBytes = rest.length;
    return JSON.parse(bytes.subarray(lengthBytes, lengthBytes + length).toString()) as unknown;
  }
}
