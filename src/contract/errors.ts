// Refusals: what a service throws when it rejects a request. One renderer per surface turns them into a response.

/** The shape of an error body on the node's REST API (specification 7 and 4.x; published shapes differ by endpoint). */
export type ErrorBody =
  /** `{"errors":{name:text}}` */
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, string>> }
  /** `{"errors":{…},"summaries":{…}}` with the fields also at the top level (bucket create and edit). */
  | {
      readonly kind: 'bucketFields';
      readonly fields: Readonly<Record<string, string>>;
      readonly summaries: unknown;
    }
  /** `{name:text}` */
  | { readonly kind: 'bare'; readonly fields: Readonly<Record<string, string>> }
  /** `["text", …]` */
  | { readonly kind: 'list'; readonly texts: readonly string[] }
  /** `{"errors":["parameter - reason", …]}` */
  | { readonly kind: 'errorList'; readonly texts: readonly string[] }
  | { readonly kind: 'text'; readonly text: string }
  /** A bare JSON value: `"Unknown user."` */
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'empty' };

/** A refusal with its status and body; the only error that services throw on purpose. */
export class AppError extends Error {
  override name = 'AppError';
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    body: ErrorBody,
    options: { cause?: unknown; headers?: Record<string, string> } = {},
  ) {
    super(describe(body), { cause: options.cause });
    this.status = status;
    this.body = body;
    this.headers = options.headers ?? {};
  }
}

export const refuse = {
  fields: (fields: Record<string, string>, status = 400) => new AppError(status, { kind: 'fields', fields }),
  bare: (fields: Record<string, string>, status = 400) => new AppError(status, { kind: 'bare', fields }),
  list: (texts: readonly string[], status = 400) => new AppError(status, { kind: 'list', texts }),
  errorList: (texts: readonly string[], status = 400) => new AppError(status, { kind: 'errorList', texts }),
  text: (text: string, status = 400) => new AppError(status, { kind: 'text', text }),
  json: (value: unknown, status = 400) => new AppError(status, { kind: 'json', value }),
  empty: (status = 400) => new AppError(status, { kind: 'empty' }),
  /** The caller's roles do not grant the requested change, although they grant the route. */
  forbidden: (permissions: readonly string[]) =>
    new AppError(403, {
      kind: 'json',
      value: { message: 'Forbidden. User needs the following permissions', permissions },
    }),
  /** A feature that the community edition does not have. */
  enterpriseOnly: () =>
    new AppError(
      400,
      { kind: 'text', text: 'This http API endpoint requires enterprise edition' },
      { headers: { 'X-enterprise-edition-needed': '1' } },
    ),
  /** The path names a resource that does not exist. */
  notFound: () => new AppError(404, { kind: 'text', text: 'Requested resource not found.\r\n' }),
};

function describe(body: ErrorBody): string {
  switch (body.kind) {
    case 'fields':
    case 'bucketFields':
    case 'bare':
      return Object.entries(body.fields)
        .map(([name, text]) => `${name}: ${text}`)
        .join('; ');
    case 'list':
    case 'errorList':
      return body.texts.join('; ');
    case 'text':
      return body.text.trim();
    case 'json':
      return JSON.stringify(body.value);
    case 'empty':
      return 'refused';
  }
}
