// A process that npm started ends with npm: `npx divan node & kill $!` stops the node, though npm passes no signal on.
import type { Clock } from '#ports/clock.ts';

const checkEveryMs = 500;

export interface Launched {
  /** As npm sets it for what it starts. */
  readonly npmCommand: string | undefined;
  readonly parent: () => number;
  readonly clock: Pick<Clock, 'after'>;
}

/** Calls `stop` once another process has become the parent of this one, so that npm is gone. */
export function stopWithLauncher(stop: () => void, { npmCommand, parent, clock }: Launched): void {
  if (npmCommand === undefined) return;
  const first = parent();
  const check = (): void => {
    if (parent() === first) clock.after(checkEveryMs, check);
    else stop();
  };
  clock.after(checkEveryMs, check);
}
