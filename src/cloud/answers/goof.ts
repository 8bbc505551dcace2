// Every refusal of the API: a status, a kind and a sentence that says what would be right.

/** The kinds, each with its status. */
const goofs = {
  BadRequest: 400,
  Unauthorized: 401,
  AccessForbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  RequestTimeout: 408,
  PayloadTooLarge: 413,
  ExpectationFailed: 417,
  ValidationError: 422,
  TooManyRequests: 429,
  HeadersTooLarge: 431,
  InternalServerError: 500,
} as const;

export type GoofType = keyof typeof goofs;

/** Thrown by services and handlers; the body is `{errorType, message}`. */
export class Goof extends Error {
  override readonly name = 'Goof';
  readonly errorType: GoofType;
  readonly headers: Readonly<Record<string, string>>;

  constructor(errorType: GoofType, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.errorType = errorType;
    this.headers = headers;
  }

  get status(): number {
    return goofs[this.errorType];
  }

  get body(): { errorType: GoofType; message: string } {
    return { errorType: this.errorType, message: this.message };
  }
}

export const invalid = (message: string): Goof => new Goof('ValidationError', message);
export const notFound = (message: string): Goof => new Goof('NotFound', message);
export const forbidden = (message: string): Goof => new Goof('AccessForbidden', message);
