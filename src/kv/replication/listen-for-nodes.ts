// Opens the port for the data services of other nodes.
import type { KvStartOptions } from '../admin.ts';
import type { LinkHost } from './link.ts';

/** Null: this node has no such port. A port that is only preferred is replaced by a free one where it is in use. */
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
