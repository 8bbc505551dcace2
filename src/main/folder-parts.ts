// The parts with which a node opens its data folder.
import type { FolderLock } from '#ports/folder-lock.ts';
import type { Log } from '#ports/log.ts';
import type { DataFolder } from './data-folder.ts';
import type { DiskReserveFile } from './disk-reserve-file.ts';
import type { OwnNatsServer } from './own-nats-server.ts';

export interface FolderParts {
  folder: DataFolder;
  reserve: DiskReserveFile;
  lock: FolderLock;
  /** The NATS server of this node, if it has one. */
  server: Pick<OwnNatsServer, 'start' | 'remove'>;
  log: Log;
}
