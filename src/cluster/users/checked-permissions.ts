// Which of many permissions a caller has. The client decides how many there are, and one takes a pass over all roles of the caller: the check
// yields to other requests.
import type { Context } from '#contract/route.ts';
import { type Clock, nextTurn } from '#ports/clock.ts';

/** How long the thread checks before it yields. */
const sliceMs = 5;

export async function checkedPermissions(
  permissions: readonly string[],
  { may, signal }: Pick<Context, 'may' | 'signal'>,
  clock: Pick<Clock, 'monotonicMs' | 'soon'>,
): Promise<Record<string, boolean>> {
  const checked: [string, boolean][] = [];
  let sliceStartMs = clock.monotonicMs();
  for (const permission of new Set(permissions)) {
    checked.push([permission, may(permission)]);
    if (clock.monotonicMs() - sliceStartMs < sliceMs) continue;
    await nextTurn(clock);
    signal.throwIfAborted();
    sliceStartMs = clock.monotonicMs();
  }
  return Object.fromEntries(checked);
}
