// Caches the authenticated sender of each connection: clients repeat their headers with every request, and decoding and authenticating
// them again takes longer than running a short statement.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Authority, RequestOrigin, Sender } from '../access/session.ts';

export type KnownOrigin = RequestOrigin & { readonly sender: Sender };

interface CachedOrigin {
  readonly origin: KnownOrigin;
  readonly headers: readonly (string | string[] | undefined)[];
  readonly revision: number;
}

export class KnownOrigins {
  private readonly authority: Pick<Authority, 'revision'>;
  /** The last authenticated sender of each open connection. */
  private readonly bySocket = new WeakMap<Socket, CachedOrigin>();

  constructor(authority: Pick<Authority, 'revision'>) {
    this.authority = authority;
  }

  /** The origin if the connection's last authenticated request had the same headers and no account has changed since; else null. */
  originOf({ socket, headers }: IncomingMessage): KnownOrigin | null {
    const cached = this.bySocket.get(socket);
    if (cached === undefined || cached.revision !== this.authority.revision) return null;
    const [authorization, agent, library] = cached.headers;
    const isSame =
      headers.authorization === authorization &&
      headers['user-agent'] === agent &&
      headers['cb-user-agent'] === library;
    return isSame ? cached.origin : null;
  }

  /** Call only for authenticated senders. `revision`: that of the authority before it authenticated. */
  keep({ socket, headers }: IncomingMessage, origin: KnownOrigin, revision: number): void {
    this.bySocket.set(socket, {
      origin,
      headers: [headers.authorization, headers['user-agent'], headers['cb-user-agent']],
      revision,
    });
  }
}
