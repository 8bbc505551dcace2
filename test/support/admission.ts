// Whether a server admits a client: the server answers a request of its protocol, or closes the connection without a byte.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type Protocol = 'http' | 'data' | 'tls';

/** After this time the test fails, as the server has done neither. */
const answerTimeoutMs = 120_000;

/** A NOOP request (0x0a) of the data port: a header that begins with the magic byte of requests (0x80). */
export const noOperation = Buffer.alloc(24);
noOperation.writeUInt16BE(0x800a);
const requests = { http: 'GET / HTTP/1.0\r\n\r\n', data: noOperation };

export interface Target {
  host: string;
  port: number;
  localAddress: string;
}

export function isAdmitted(target: Target, protocol: Protocol): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let socket: Socket;
  if (protocol === 'tls') {
    socket = connectTls({ ...target, rejectUnauthorized: false }, () => resolve(true));
  } else {
    const request = requests[protocol];
    socket = connect(target, () => socket.write(request));
    socket.once('data', () => resolve(true));
  }
  socket.setTimeout(answerTimeoutMs, () =>
    reject(new Error(`${target.host}:${target.port} does not answer`)),
  );
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'ECONNREFUSED') reject(new Error(`nothing listens on ${target.host}:${target.port}`));
  });
  socket.on('close', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
