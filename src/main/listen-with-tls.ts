// Opens TLS listeners, and has them follow the changes of their options, also those made while they open.
import type { ChangeNotifier } from '#cluster/config/until.ts';
import type { TlsSpec } from '#ports/tls.ts';

interface TlsSource extends ChangeNotifier {
  /** Null while there is no certificate. */
  current(): TlsSpec | null;
}

interface TlsListener {
  replaceTls(tls: TlsSpec): void;
}

export interface FollowingListeners<L> {
  readonly listeners: readonly L[];
  /** Ends the following, not the listeners. */
  stop(): void;
}

export async function listenWithTls<L extends TlsListener>(
  source: TlsSource,
  open: (tls: TlsSpec) => Promise<readonly L[]>,
): Promise<FollowingListeners<L>> {
  const tls = source.current();
  if (tls === null) throw new Error('there is no certificate');
  let listeners: readonly L[] = [];
  let hasChanged = false;
  const follow = (): void => {
    hasChanged = true;
    const changed = source.current();
    if (changed !== null) for (const listener of listeners) listener.replaceTls(changed);
  };
  const changes = source.onChange(follow);
  try {
    listeners = await open(tls);
  } catch (error) {
    changes.stop();
    throw error;
  }
  if (hasChanged) follow();
  return { listeners, stop: () => changes.stop() };
}
