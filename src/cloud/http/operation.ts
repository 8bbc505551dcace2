// One declaration per operation of the API: from it come the route, the access check, validation and the OpenAPI page.
import type { z } from 'zod';
import type { Caller } from '../access/caller.ts';

export interface ReplySpec {
  readonly doc: string;
  /** Absent: no body. */
  readonly body?: z.ZodType;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Operation<Query extends z.ZodType = z.ZodType, Body extends z.ZodType = z.ZodType> {
  /** As published: `clusters/v3create`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Parameters in braces: `/v2/clusters/{id}`. `{id}` is a uuid. */
  readonly path: string;
  readonly doc: string;
  /** `open` needs no credentials. Otherwise the handler asks the caller what it may. */
  readonly access: 'open' | 'token';
  /** What an `{id}` that is no uuid is answered with: 422 where the published table lists it, else 404. */
  readonly malformedId?: 422 | 404;
  readonly query?: Query;
  readonly body?: Body;
  readonly replies: Readonly<Record<number, ReplySpec>>;
}

export const defineOperation = <const O extends Operation>(operation: O): O => operation;

export interface Request<Query = unknown, Body = unknown> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** As the caller wrote it, for links to other pages. */
  readonly url: URL;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Of<S> = S extends z.ZodType ? z.output<S> : undefined;
export type RequestOf<O extends Operation> = Request<Of<O['query']>, Of<O['body']>>;
export type Handler<O extends Operation> = (request: RequestOf<O>) => Promise<Reply>;

/** An operation with the code that serves it. */
export interface BoundOperation {
  readonly operation: Operation;
  readonly handle: (request: Request) => Promise<Reply>;
}

export const bind = <O extends Operation>(operation: O, handle: Handler<O>): BoundOperation => ({
  operation,
  handle: handle as BoundOperation['handle'],
});
