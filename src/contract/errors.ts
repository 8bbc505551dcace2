// The error that services throw on purpose: a status and the body of the answer. Made from the entries of the catalogs only
// (`*.refusals.ts`); one renderer per surface turns it into a response.

/** The body of a refusal; published forms differ by endpoint. */
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
  /** Any JSON value: `"Unknown user."` */
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'empty' };

/** A refusal with its status and body; the only error that services throw on purpose. */
export class AppError extends Error {
  override name = 'AppError';
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: ErrorBody, headers: Readonly<Record<string, string>> = {}) {
    super(describe(body));
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

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
