// SIGTERM and SIGINT stop a process cleanly; a second one ends it at once.

const exitOnSecond = 130;

/** Answers what else may ask for the end. */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) process.exit(exitOnSecond);
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: Error) => {
        process.stderr.write(`divan: stopping failed: ${error.stack}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return onSignal;
}
