// Errors of the API: a status, a type and a sentence that says what would be right. The published schema is called `goof`.

/** The HTTP status of each type. */
const statusByType = {
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

export type ErrorType = keyof typeof statusByType;

/** Thrown by services and handlers; the body is `{errorType, message}`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly errorType: ErrorType;
  readonly headers: Readonly<Record<string, string>>;

  constructor(errorType: ErrorType, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.errorType = errorType;
    this.headers = headers;
  }

  get status(): number {
    return statusByType[this.errorType];
  }

  get body(): { errorType: ErrorType; message: string } {
    return { errorType: this.errorType, message: this.message };
  }
}

export const invalid = (message: string): ApiError => new ApiError('ValidationError', message);
export const notFound = (message: string): ApiError => new ApiError('NotFound', message);
export const forbidden = (message: string): ApiError => new ApiError('AccessForbidden', message);
