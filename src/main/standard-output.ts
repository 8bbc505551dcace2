// The standard output of commands that end: its reader may end first, as `head` does, or its file may be on a full disk.
import { ExitStatus } from './exit-status.ts';

/** Ends the process after the reader of its output silently, with its status so far, and with a message if the output is lost for another reason. */
export function endWithOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
  process.stderr.write(`divan: cannot write to standard output: ${error.message}\n`);
  process.exit(ExitStatus.failure);
}
