// Reads of TLS sockets into a buffer that the caller owns. Node's own way, an event and a new buffer for each chunk, costs as much time as a small
// request. A client socket avoids it with the option `onread`; for a server's socket there is no public option, so this code sets the members that
// `onread` sets.
import type { Socket } from 'node:net';

/** The first `length` bytes arrived. They are valid during the call. False: read no further until the socket is resumed. */
export type ReceiveBytes = (bytes: Buffer, length: number) => boolean;

/** The private member of a socket that holds its handle, and the member of the handle that is used here. */
interface SocketInternals {
  _handle: { useUserBuffer?(buffer: Buffer): void } | null;
}

/** Reads a TLS socket whose handshake is over into `shared`. False, and nothing is done, on a runtime without these members. */
export function readEncryptedInto(socket: Socket, shared: Buffer, receive: ReceiveBytes): boolean {
  const reader = readerMembers(socket);
  const handle = (socket as unknown as SocketInternals)._handle;
  if (reader === null || typeof handle?.useUserBuffer !== 'function') return false;
  // Node may already have read bytes that followed the handshake.
  const early = socket.read() as Buffer | null;
  handle.useUserBuffer(shared);
  Object.assign(socket, {
    [reader.buffer]: shared,
    [reader.callback]: (bytes: number) => receive(shared, bytes),
  });
  if (early === null || receive(early, early.length)) socket.resume();
  return true;
}

/** The members of the socket in which Node keeps the buffer and the callback of `onread`; null on a runtime without them. */
function readerMembers(socket: Socket): { buffer: symbol; callback: symbol } | null {
  const symbols = Object.getOwnPropertySymbols(socket);
  const named = (name: string) => symbols.find(({ description }) => description === name);
  const [buffer, callback] = [named('kBuffer'), named('kBufferCb')];
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}
