// The exit statuses of commands, for scripts; docs/reference/command-line.md lists them.

export const ExitStatus = {
  /** Something failed, or the node refused it. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** A part of the work was refused; the rest is done. */
  partial: 3,
  /** The named bucket, collection, user or document does not exist. */
  missing: 4,
  /** The command was stopped by Ctrl-C or SIGTERM. */
  interrupted: 130,
} as const;

export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** Ends the process with the status after its message is printed. */
export class CommandError extends Error {
  override name = 'CommandError';
  /** Marks errors whose text says everything: they are reported without a stack. */
  readonly explained = true;
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = ExitStatus.failure) {
    super(message);
    this.status = status;
  }
}
