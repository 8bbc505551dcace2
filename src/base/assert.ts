/** Throws for a bug in the code: a condition that must hold whatever the input is. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

export class AssertionError extends Error {
  override name = 'AssertionError';
}

/** For the default branch of a switch that names every case. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
