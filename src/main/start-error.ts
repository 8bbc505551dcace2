// Why a process could not start, for its user: printed without a stack.

export class StartError extends Error {
  override name = 'StartError';
  /** Marks errors whose text says everything: they are reported without a stack. */
  readonly isExplained = true;
}

/** Waits for a listener to open; an error names the option of the port. */
export async function untilListening<T>(
  option: string,
  host: string,
  port: number,
  opened: Promise<T>,
): Promise<T> {
  try {
    return await opened;
  } catch (error) {
    throw new StartError(
      `--${option}: cannot listen on ${host}:${port}: ${listenProblem(error as NodeJS.ErrnoException)}`,
      {
        cause: error,
      },
    );
  }
}

function listenProblem(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is in use';
    case 'EACCES':
      return 'not allowed';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address (see --host)';
    default:
      return error.message;
  }
}
