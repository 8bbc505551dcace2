// HTTP load over persistent connections; each sends its next request after the answer to the last one. Answers need a content-length.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Load {
  readonly url: URL;
  readonly authorization?: string;
  /** The body of a POST; absent for GET. */
  readonly form?: string;
  /** The path of the next request; the default is that of `url`. */
  readonly next?: () => string;
  readonly connections: number;
  /** How long the connections send requests. */
  readonly ms: number;
}

export interface Figures {
  readonly perSecond: number;
  /** Bytes of the last answer's body. */
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function load({ url, next, connections, ms, ...content }: Load): Promise<Figures> {
  const times: number[] = [];
  const untilMs = performance.now() + ms;
  let bytes = 0;
  const connection = async (): Promise<void> => {
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, 'connect');
    // One request at least: on a busy machine connecting may take longer than a short measurement.
    do {
      const path = next?.() ?? `${url.pathname}${url.search}`;
      const startedMs = performance.now();
      bytes = await ask(socket, requestText(url, path, content));
      times.push(performance.now() - startedMs);
    } while (performance.now() < untilMs);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, connection));
  times.sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { perSecond: (times.length / ms) * 1000, bytes, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

function requestText(
  { host }: URL,
  path: string,
  { authorization, form }: Pick<Load, 'authorization' | 'form'>,
): string {
  const headers = [
    `host: ${host}`,
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
  ];
  if (form !== undefined)
    headers.push('content-type: application/x-www-form-urlencoded', `content-length: ${form.length}`);
  return `${form === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${form ?? ''}`;
}

/** Returns the size of the answer's body. */
function ask(socket: Socket, request: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let text = '';
  const onData = (chunk: Buffer): void => {
    text += chunk.toString('latin1');
    const headEnd = text.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (text.length < headEnd + 4 + length) return;
    if (text.startsWith('HTTP/1.1 200') && !Number.isNaN(length)) resolve(length);
    else reject(new Error(`${request}: ${text.slice(0, 400)}`));
  };
  const onClose = (): void => reject(new Error('the server closed the connection'));
  socket.on('data', onData).on('error', reject).on('close', onClose);
  if (socket.destroyed) onClose();
  socket.write(request);
  return promise.finally(() => socket.off('data', onData).off('error', reject).off('close', onClose));
}
