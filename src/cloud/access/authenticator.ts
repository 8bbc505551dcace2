// From the headers of a request to a caller. A refusal says which part of the credentials failed: whoever has an access key
// learns nothing from it, and whoever debugs a client everything.
import type { Clock } from '#ports/clock.ts';
import { forbidden, Goof } from '../http/goof.ts';
import type { TokenRow } from '../store/tables.ts';
import { Caller, type Role } from './caller.ts';
import { isSignature, timestampProblem } from './signature.ts';
import type { TokenStore } from './tokens.store.ts';

/** What of a request credentials are checked against. */
export interface Presented {
  readonly authorization: string | undefined;
  readonly timestamp: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

export class Authenticator {
  private readonly tokens: TokenStore;
  private readonly clock: Clock;

  constructor(tokens: TokenStore, clock: Clock) {
    this.tokens = tokens;
    this.clock = clock;
  }

  async caller(presented: Presented): Promise<Caller> {
    const { authorization } = presented;
    if (authorization === undefined) throw unauthorized(`an Authorization header is needed: ${forms}`);
    const credentials = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (credentials === undefined) throw unauthorized(`the Authorization header must be ${forms}`);
    const [name, signature] = credentials.split(':', 2) as [string, string?];
    const row =
      signature === undefined ? await this.byToken(name) : await this.bySignature(name, signature, presented);
    await this.tokens.markUsed(row);
    if (!(await this.tokens.hasItsProject(row)))
      throw forbidden(`the project of this token, ${row.project_id}, is deleted`);
    return new Caller({ tokenId: row.id, role: row.role as Role, projectId: row.project_id });
  }

  private async byToken(token: string): Promise<TokenRow> {
    const row = await this.tokens.byToken(token);
    if (row === null) throw unauthorized('this token is unknown, revoked or has expired');
    return row;
  }

  private async bySignature(accessKey: string, signature: string, presented: Presented): Promise<TokenRow> {
    const row = await this.tokens.byAccessKey(accessKey);
    if (row === null) throw unauthorized('this access key is unknown, revoked or has expired');
    const problem = timestampProblem(presented.timestamp, this.clock.wallMs());
    if (problem !== null) throw unauthorized(problem);
    const signed = { ...presented, timestamp: presented.timestamp as string };
    if (isSignature(signature, this.tokens.secretOf(row), signed)) return row;
    throw unauthorized(
      'the signature does not fit: it is base64 of HMAC-SHA256 over METHOD, path with query, and timestamp, a line each',
    );
  }
}

const forms = 'Bearer <ACCESS_TOKEN>, or Bearer <ACCESS_KEY>:<SIGNATURE> with Couchbase-Timestamp';

const unauthorized = (message: string): Goof =>
  new Goof('Unauthorized', message, { 'www-authenticate': 'Bearer' });
