// One declaration per REST route. From it come the router entry, the access check, validation, the reference page
// and the tests of 401, 403, 404 and 405 over all routes.
import type { JsonSchema } from './json-schema.ts';
import type { Output, Schema } from './schema.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';

/**
 * Who may call a route once the node is provisioned.
 * - `anyone`: no credentials needed (wrong ones are still 401).
 * - `authenticated`: any identity.
 * - `permission`: the identity's roles must grant it. `{name}` stands for the path parameter of that name:
 *   `cluster.bucket[{bucket}].settings!read`. `.` inside brackets means "any".
 * - `roles`: the specification names the roles instead of a permission, and only they decide. `permission` is what
 *   the 403 body names.
 */
export type Access =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'permission'; readonly permission: string }
  | { readonly kind: 'roles'; readonly roles: readonly string[]; readonly permission: string };

/**
 * How a request body is read. `none` ignores it. `raw` passes the bytes on. `form` parses form fields only if the Content-Type
 * is that of a form, `anyForm` with any Content-Type.
 */
export type BodyKind = 'none' | 'form' | 'anyForm' | 'json' | 'raw';

export interface RouteDefinition<Query extends Schema = Schema, Body extends Schema = Schema> {
  /** Stable name for logs, audit and documentation: `buckets.edit`. */
  readonly id: string;
  readonly method: Method;
  /** Path with parameters: `/pools/default/buckets/:bucket`. A HEAD request is served as GET. */
  readonly path: string;
  readonly access: Access;
  /** The parameter `:bucket` may also be a section of the statistics, like `@query`, which is no valid name of a bucket; the handler refuses unknown sections. */
  readonly acceptsSections?: boolean;
  /**
   * Before provisioning the route is open to all, and any `Authorization` is ignored; one without this flag answers 401 until then. If the
   * process was started with the first administrator's credentials, methods other than GET require them before provisioning too.
   */
  readonly openBeforeProvisioning?: boolean;
  readonly query?: Query;
  readonly bodyKind?: BodyKind;
  /**
   * Schema of the body. For forms: of an object of strings, first value of a repeated name wins; bracket and dotted names
   * stay as sent. Absent for routes whose service owns the rules and messages; they get the raw fields.
   */
  readonly body?: Body;
  /** Form fields that may repeat: their values are joined with newlines. For others the first value counts. */
  readonly repeatable?: readonly string[];
  /** Largest body in bytes; default 1 MiB for forms and raw, 10 MiB for JSON. */
  readonly bodyBytesMax?: number;
  /**
   * `?just_validate=1` checks the request and changes nothing: the handler sees `input.justValidate`, and a reply with status
   * 200 is sent as `{"errors":{}}`. The handler of a route with another reply reads the parameter: `by handler`.
   */
  readonly acceptsJustValidate?: boolean | 'by handler';
  /** The call changes nothing although its method is not GET. All others are recorded in the audit trail. */
  readonly changesNothing?: boolean;
  /** The body holds documents of users, which the audit trail must not record. */
  readonly hasUserData?: boolean;
  /** From which version of the whole cluster on the call is possible: older nodes lack what it needs. Absent: always. */
  readonly since?: number;
  /** The successful response; 200 without a body by default. */
  readonly answer?: Answer;
  /** Statuses beyond those that every route of its kind has, with their descriptions. */
  readonly otherStatuses?: Readonly<Record<number, string>>;
  /** One sentence for the reference page. */
  readonly doc: string;
}

/** A successful response. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  /** The schema of a JSON body; a `stream` sends it again after each change. */
  readonly json?: JsonSchema;
  readonly stream?: boolean;
  /** The media type of a body that is not JSON, or of the alternative to a JSON body. */
  readonly text?: 'image/webp' | 'text/plain' | 'text/html' | 'text/css' | 'text/javascript' | 'text/yaml';
}

/**
 * Declares a route; exists to infer the types of query and body. Does not throw. The route is served once a `*.routes.ts` binds a
 * handler to it, which throws refusals of a catalog (`*.refusals.ts`).
 *
 *     export const FlushBucket = defineRoute({
 *       id: 'buckets.flush',
 *       method: 'POST',
 *       path: '/pools/default/buckets/:bucket/controller/doFlush',
 *       access: { kind: 'permission', permission: 'cluster.bucket[{bucket}]!flush' },
 *       doc: 'Deletes all documents of a bucket.',
 *     });
 *     bind(FlushBucket, async ({ params }) => reply.empty());
 */
export const defineRoute = <const R extends RouteDefinition>(route: R): R => route;

/** An answer. `json` values are sent as they are; build them in a contract file from domain values. */
export type Reply =
  | { readonly kind: 'empty'; readonly status: number; readonly headers?: Record<string, string> }
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly value: unknown;
      readonly headers?: Record<string, string>;
    }
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly text: string;
      readonly headers?: Record<string, string>;
    }
  /** Bytes of any type, streamed unchanged: a file, or the response of another server with its status. `headers` has the Content-Type. */
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly source: AsyncIterable<Uint8Array>;
    }
  /** Chunked JSON: each value is followed by four newlines; ends when the source ends or the client disconnects. */
  | { readonly kind: 'stream'; readonly source: (signal: AbortSignal) => AsyncIterable<unknown> }
  /** The same, of texts that are JSON. */
  | { readonly kind: 'stream'; readonly texts: (signal: AbortSignal) => AsyncIterable<string> };

export const reply = {
  empty: (status = 200, headers?: Record<string, string>): Reply => ({
    kind: 'empty',
    status,
    ...(headers && { headers }),
  }),
  json: (value: unknown, status = 200, headers?: Record<string, string>): Reply => ({
    kind: 'json',
    status,
    value,
    ...(headers && { headers }),
  }),
  text: (text: string, status = 200, headers?: Record<string, string>): Reply => ({
    kind: 'text',
    status,
    text,
    ...(headers && { headers }),
  }),
  /** A value that is already encoded as JSON. */
  jsonText: (text: string): Reply => ({
    kind: 'text',
    status: 200,
    text,
    headers: { 'Content-Type': 'application/json' },
  }),
  stream: (source: (signal: AbortSignal) => AsyncIterable<unknown>): Reply => ({ kind: 'stream', source }),
  jsonTexts: (texts: (signal: AbortSignal) => AsyncIterable<string>): Reply => ({ kind: 'stream', texts }),
};

/** Form fields as received. */
export type Form = Readonly<Record<string, string>>;

/** Path parameters by name. */
export type Params = Readonly<Record<string, string>>;

/** The input of a handler. */
export interface Input<Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly justValidate: boolean;
}

/** The caller and the connection of a request. */
export interface Context {
  readonly identity: Identity;
  /** True when the caller may do what the permission says (`cluster.bucket[b].settings!read`). */
  may(permission: string): boolean;
  /** `Host` header without port, or the local address of the socket: the name by which the client reached this node. */
  readonly host: string;
  /** Address and port the client's connection arrived at. */
  readonly local: { readonly address: string; readonly port: number };
  readonly remoteAddress: string;
  readonly isTls: boolean;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly signal: AbortSignal;
}

export interface Identity {
  readonly name: string;
  /** `anonymous`: no credentials; before provisioning it may call the open routes. */
  readonly domain: 'admin' | 'local' | 'external' | 'anonymous';
}

type QueryOf<R extends RouteDefinition> = R['query'] extends Schema ? Output<R['query']> : Form;
type BodyOf<R extends RouteDefinition> = R['body'] extends Schema
  ? Output<R['body']>
  : R['bodyKind'] extends 'form' | 'anyForm'
    ? Form
    : R['bodyKind'] extends 'raw'
      ? Buffer
      : R['bodyKind'] extends 'json'
        ? unknown
        : undefined;

export type Handler<R extends RouteDefinition> = (
  input: Input<QueryOf<R>, BodyOf<R>>,
  context: Context,
) => Reply | Promise<Reply>;

/** A route with its handler; the unit that `http` serves. */
export interface BoundRoute {
  readonly route: RouteDefinition;
  readonly handler: (input: Input<never, never>, context: Context) => Reply | Promise<Reply>;
}

export const bind = <R extends RouteDefinition>(route: R, handler: Handler<R>): BoundRoute => ({
  route,
  handler: handler as BoundRoute['handler'],
});
