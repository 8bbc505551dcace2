// How commands end, for scripts; docs/reference/command-line.md lists it.

export const ExitStatus = {
  /** Something failed, or the node refused it. */
  failure: 1,
  /** A wrong command line. */
  usage: 2,
  /** A part of the work was refused, all else is done. */
  partial: 3,
  /** The named bucket, collection, user or document does not exist. */
  missing: 4,
  /** Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

type ExitCode = (typeof ExitStatus)[keyof typeof ExitStatus];

/** Printed without a stack; the process ends with the status. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly explained = true;
  readonly status: ExitCode;

  constructor(message: string, status: ExitCode = ExitStatus.failure) {
    super(message);
    this.status = status;
  }
}
