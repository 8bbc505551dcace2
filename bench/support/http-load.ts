// Requests over a few kept connections, each after the answer to the one before.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Load {
  readonly url: URL;
  readonly token?: string;
  /** The path of the next request; by default always that of the url. */
  readonly next?: () => string;
  readonly connections: number;
  readonly ms: number;
}

export interface Figures {
  readonly perSecond: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
}

export async function load({ url, token, next, connections, ms }: Load): Promise<Figures> {
  const times: number[] = [];
  const until = performance.now() + ms;
  let bytes = 0;
  const one = async (): Promise<void> => {
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, 'connect');
    while (performance.now() < until) {
      const path = next?.() ?? `${url.pathname}${url.search}`;
      const began = performance.now();
      bytes = await ask(socket, url, path, token);
      times.push(performance.now() - began);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { perSecond: (times.length / ms) * 1000, bytes, p50: at(0.5), p99: at(0.99) };
}

/** The size of the body. */
function ask(socket: Socket, { host }: URL, path: string, token: string | undefined): Promise<number> {
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\n`);
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (text.length < head + 4 + length) return;
      socket.off('data', onData);
      if (text.startsWith('HTTP/1.1 200')) resolve(length);
      else reject(new Error(`${path}: ${text.slice(0, 400)}`));
    };
    socket.on('data', onData);
  });
}
