// Whether a port of another node can be reached.
import { connect } from 'node:net';

const timeoutMs = 3_000;

/** The reason why not; null if it can. */
export function portProblem(host: string, port: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = connect({ host, port, timeout: timeoutMs });
  const end = (problem: string | null): void => {
    socket.destroy();
    resolve(problem);
  };
  socket.once('connect', () => end(null));
  socket.once('timeout', () => end(`no answer in ${timeoutMs / 1000} s`));
  socket.once('error', (error: NodeJS.ErrnoException) => end((error.code ?? error.message).toLowerCase()));
  return promise;
}
