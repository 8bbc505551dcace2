// From the Authorization header to a caller.
import { Goof } from '../http/goof.ts';
import { Caller, type Role } from './caller.ts';
import type { TokenStore } from './tokens.store.ts';

/** What of a request credentials are checked against. */
export interface Presented {
  readonly authorization: string | undefined;
}

export class Authenticator {
  private readonly tokens: TokenStore;

  constructor(tokens: TokenStore) {
    this.tokens = tokens;
  }

  async caller({ authorization }: Presented): Promise<Caller> {
    if (authorization === undefined)
      throw unauthorized('an Authorization header is needed: Bearer <ACCESS_TOKEN>');
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthorized('the Authorization header must be: Bearer <ACCESS_TOKEN>');
    const row = await this.tokens.byToken(token);
    if (row === null) throw unauthorized('this token is unknown, revoked or has expired');
    return new Caller({ tokenId: row.id, role: row.role as Role, projectId: row.project_id });
  }
}

const unauthorized = (message: string): Goof =>
  new Goof('Unauthorized', message, { 'www-authenticate': 'Bearer' });
