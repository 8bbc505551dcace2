// A change cannot be stored because of the environment (full disk, missing files). The message is shown to the client.

interface UnwritableErrorOptions extends ErrorOptions {
  isUnchanged?: boolean;
}

export class UnwritableError extends Error {
  override readonly name = 'UnwritableError';
  /** True: the store is certain that it changed nothing and will not make the change later; false: the outcome of the change is unknown. */
  readonly isUnchanged: boolean;

  constructor(message: string, { isUnchanged = false, ...options }: UnwritableErrorOptions = {}) {
    super(message, options);
    this.isUnchanged = isUnchanged;
  }
}
