// The node's own REST API, asked on behalf of a request with its credentials: so its roles and its audit hold.
import type { Credential } from '../request/query-request.ts';

export interface RestAnswer {
  readonly status: number;
  readonly body: string;
}

export interface NodeRest {
  request(
    credential: Credential,
    method: string,
    path: string,
    fields?: Readonly<Record<string, string | number | boolean>>,
  ): Promise<RestAnswer>;
}
