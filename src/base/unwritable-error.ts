// A change cannot be stored because of the environment (full disk, missing files). The message is shown to the client.

export class UnwritableError extends Error {
  override readonly name = 'UnwritableError';
}
