// The exit statuses of commands, for scripts; docs/reference/command-line.md lists them.

export const ExitStatus = {
  /** The command failed, or the node refused its request. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** A part of the work was refused; the rest is done. */
  partial: 3,
  /** What the command names does not exist: a bucket, collection, user, document, metric, sample, project, token or cluster. */
  missing: 4,
  /** The command was stopped by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** An error that ends a command: the message is printed, and the process exits with the status. */
export class CommandError extends Error {
  override name = 'CommandError';
  /** Marks errors whose message says everything: they are printed without a stack. */
  readonly isExplained = true;
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = ExitStatus.failure) {
    super(message);
    this.status = status;
  }
}
