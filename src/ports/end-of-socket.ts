// Ends connections whose clients may neither close nor stop sending. `setTimeout` of a socket waits for a pause, which such clients do not make.
import type { Socket } from 'node:net';
import { type Clock, realClock } from './clock.ts';

/** Sends the last bytes, and closes the connection after this time at the latest. */
export function endWithin(
  socket: Socket,
  bytes: string,
  limitMs: number,
  clock: Pick<Clock, 'after'> = realClock,
): void {
  socket.end(bytes);
  const limit = clock.after(limitMs, () => socket.destroy());
  socket.once('close', () => limit.cancel());
}
