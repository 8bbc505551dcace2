// The copy of a configuration that other servers store: a node starts from it while they cannot be reached.
import type { Log } from '#ports/log.ts';
import { ConfigCopyFile } from '#replog/mirror/config-copy.adapter.ts';
import type { MirroredConfigStore, MirroredStoreOptions } from '#replog/mirror/mirrored-config-store.ts';

/**
 * `seen`: the newest revision that this node has recorded; null: none. A copy that is damaged, older than that, or of a store without a
 * recorded revision is reported, and replaced as soon as the servers can be reached.
 */
export function openCopy(
  path: string,
  seen: number | null,
  log: Log,
): NonNullable<MirroredStoreOptions['copy']> {
  const copy = new ConfigCopyFile(path);
  const unusable = (reason: string) => {
    log.warn('configuration.copy_unusable', { path, reason });
    process.stderr.write(`divan: the copy of the configuration cannot be used: ${reason}\n`);
    copy.setAside();
    return { file: copy, found: null };
  };
  try {
    const found = copy.load();
    if (found.records.length === 0) return { file: copy, found: null };
    if (seen !== null && found.revision >= seen) return { file: copy, found };
    if (seen === null) return unusable(`${path} belongs to a store whose state this node has not recorded`);
    return unusable(`${path} is at revision ${found.revision}, and this node has seen ${seen}`);
  } catch (error) {
    return unusable((error as Error).message);
  }
}

/** Reports if a started store serves its copy of the configuration because the servers cannot be reached. */
export function noteCopy(store: MirroredConfigStore, path: string, log: Log): void {
  if (store.problem === null) return;
  log.warn('configuration.from_copy', { revision: store.revision(), reason: store.problem });
  process.stderr.write(`divan: starting from the copy of the configuration in ${path}\n`);
}
