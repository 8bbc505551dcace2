// Answers to what is no HTTP request: refused in the words of the API, and the connection is closed.
import type { Socket } from 'node:net';
import { Goof } from '../answers/goof.ts';
import { jsonType } from './json-body.ts';

const goofsByCode: Readonly<Record<string, Goof>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new Goof('RequestTimeout', 'the request took too long to arrive'),
  HPE_HEADER_OVERFLOW: new Goof('HeadersTooLarge', 'the headers of a request hold at most 16 KiB'),
};
const malformed = new Goof('BadRequest', 'this is not an HTTP request');

export function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const goof = goofsByCode[error.code ?? ''] ?? malformed;
  const body = JSON.stringify(goof.body);
  const head = [
    `HTTP/1.1 ${goof.status} ${goof.errorType}`,
    `content-type: ${jsonType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
