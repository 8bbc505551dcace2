// Ctrl-C during long work.
import { CommandError, ExitStatus } from './exit-status.ts';

/** The first Ctrl-C or SIGTERM stops the task, which says what it left; the second ends the process. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(ExitStatus.interrupted);
    stop.abort(new CommandError('stopped', ExitStatus.interrupted));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.stderr.write(`divan: ${(error as Error).message}\n`);
    process.exit(ExitStatus.interrupted);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
