// For load generators, which are processes of their own.
import type { Socket } from 'node:net';

/** Ends this process with an error when the server closes the connection: a generator that only counts replies would wait for more. */
export const failIfClosed = (socket: Socket): Socket =>
  socket.on('end', () => {
    throw new Error('the server closed a connection');
  });
