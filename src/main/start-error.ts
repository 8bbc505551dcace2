// Why a process could not start, in words for its user: shown without a stack.

export class StartError extends Error {
  override name = 'StartError';
  readonly explained = true;
}

/** Waits for a listener to open and names the option of a port that cannot be had. */
export async function opening<T>(option: string, host: string, port: number, opened: Promise<T>): Promise<T> {
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
