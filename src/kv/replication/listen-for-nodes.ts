// Opens the port for the data services of other nodes.
import type { KvStartOptions } from '../admin.ts';
import type { LinkHost } from './link.ts';

/** Returns the port; null: this node has no such port. If the configured port is in use and only preferred, a free one is opened instead. */
export async function listenForNodes(
  links: Pick<LinkHost<never>, 'listen'>,
  { host, isReplicationPortPreferred, replicationPort }: KvStartOptions,
): Promise<number | null> {
  if (replicationPort === undefined) return null;
  try {
    return await links.listen(host, replicationPort);
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    if (!isTaken || isReplicationPortPreferred !== true) throw error;
    return await links.listen(host, 0);
  }
}
