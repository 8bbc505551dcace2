// A limit of the whole time of a request. The timeout of a socket counts idle time only: a peer that sends a byte now and then would
// keep the request waiting without end.
import type { EventEmitter } from 'node:events';

/** Calls `expire` after `limitMs`, unless the socket or request closes or the returned function is called before. */
export function deadline(
  { of, limitMs }: { readonly of: EventEmitter; readonly limitMs: number },
  expire: () => void,
): () => void {
  const timer = setTimeout(expire, limitMs);
  const end = (): void => clearTimeout(timer);
  of.once('close', end);
  return end;
}
