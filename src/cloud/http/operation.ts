// One declaration per operation of the API: from it come the route, the access check, validation and the OpenAPI page.
import type { z } from 'zod';
import type { Caller, Role } from '../access/caller.ts';
import type { SubjectKind, Subjects } from '../access/subjects.ts';

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
  /** `open` needs no credentials. */
  readonly access: 'open' | 'token';
  /** The required permission, checked before validation. Default: `read` for GET, else `write`. */
  readonly needs?: Need;
  /** The object that `{id}` names, passed to the handler. Its project decides permissions; absent: the body's `projectId` does. */
  readonly subject?: SubjectKind;
  /** The status for an `{id}` that is not a uuid: 422 where the published table lists it, else 404. */
  readonly malformedId?: 422 | 404;
  /**
   * The answer of this read depends on the store only, not on the time or a node, and is 200 without headers. It is cached until the
   * store changes.
   */
  readonly fromStore?: true;
  readonly query?: Query;
  readonly body?: Body;
  readonly replies: Readonly<Record<number, ReplySpec>>;
}

/**
 * `any`: every role; each reads only what it may see. `read`, `write`: in the project concerned. `readAll`: in the whole organization.
 * `organization`: its owner.
 */
export type Need = 'any' | 'read' | 'write' | 'readAll' | 'organization';

const rolesByNeed: Readonly<Record<Need, readonly Role[]>> = {
  any: ['organizationOwner', 'projectOwner', 'projectViewer', 'reader'],
  read: ['organizationOwner', 'projectOwner', 'projectViewer', 'reader'],
  write: ['organizationOwner', 'projectOwner'],
  readAll: ['organizationOwner', 'reader'],
  organization: ['organizationOwner'],
};

export const needOf = ({ needs, method }: Operation): Need => needs ?? (method === 'GET' ? 'read' : 'write');

/** The permitted roles; project roles only within their project. Empty: no credentials needed. */
export const rolesFor = (operation: Operation): readonly Role[] =>
  operation.access === 'open' ? [] : rolesByNeed[needOf(operation)];

/** The error statuses that an operation declares, besides 500. */
export function refusalsOf({ access, method, path, query, body, malformedId, subject }: Operation): number[] {
  // A cluster that is not ready or whose node does not answer accepts no changes.
  const isChange = subject === 'cluster' && method !== 'GET';
  return [
    ...(access === 'open' ? [] : [401, 403]),
    ...(path.includes('{') ? [404] : []),
    ...(body === undefined ? [] : [413]),
    ...(query !== undefined || body !== undefined || malformedId === 422 || isChange ? [422] : []),
    ...(access === 'open' ? [] : [429]),
  ];
}

/**
 * Declares an operation of the cloud; exists to infer the types of query, body and subject. Does not throw. It is served once a
 * `*.routes.ts` in the list of `cloud.ts` binds a handler to it, which throws errors of `answers/api-error.ts`.
 */
export const defineOperation = <const O extends Operation>(operation: O): O => operation;

export interface Request<Query = unknown, Body = unknown, Subject = unknown> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /** The object that the path names. */
  readonly subject: Subject;
  /** For paging links: the path and the query as received, after an origin at which the client reaches the cloud. */
  readonly url: URL;
  /** Where the connection comes from: a client, or a proxy in front of the cloud. */
  readonly address: string;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type OutputOf<S> = S extends z.ZodType ? z.output<S> : undefined;
type SubjectOf<Kind> = Kind extends SubjectKind ? Subjects[Kind] : undefined;
export type RequestOf<O extends Operation> = Request<
  OutputOf<O['query']>,
  OutputOf<O['body']>,
  SubjectOf<O['subject']>
>;
export type Handler<O extends Operation> = (request: RequestOf<O>) => Promise<Reply>;

/** An operation with its handler. */
export interface BoundOperation {
  readonly operation: Operation;
  readonly handle: (request: Request) => Promise<Reply>;
}

export const bind = <O extends Operation>(operation: O, handle: Handler<O>): BoundOperation => ({
  operation,
  handle: handle as BoundOperation['handle'],
});
