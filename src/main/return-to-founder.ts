// Moves the configuration from NATS servers of the nodes to this node's folder, and records such a move in the folder of any node. Loaded only for such a move.
// The last change on the servers decides. Before it the servers have the configuration, and the copy that the next founder prepared is not used.
// After it the founder has the configuration, and every node that finds the change records that.
import { existsSync } from 'node:fs';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import {
  firstRevisionAfter,
  type ReturnedContent,
  returnedToFounder,
} from '#cluster/engine/engine-record.ts';
import { realClock } from '#ports/clock.ts';
import { ConfigCopyFile, writeConfigFile } from '#replog/mirror/config-copy.adapter.ts';
import type { StoreContent } from '#replog/mirror/config-link.ts';
import type { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import type { EndedStore, StoreEnd } from '#replog/mirror/store-end.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { configurationPath, type DataFolder } from './data-folder.ts';
import type { FounderMembership, MembershipFile } from './membership-file.ts';
import { StartError } from './start-error.ts';

/** How long the copy is repeated when other nodes change the configuration between the copy and the last change. Below the time for which changes wait. */
const attemptsMs = 8_000;

export interface ReturningStore {
  readonly store: Pick<SwitchingConfigStore, 'hold' | 'release'>;
  readonly mirror: Pick<MirroredConfigStore, 'end' | 'problem' | 'state'>;
  readonly file: MembershipFile;
}

/** Resolves after the last change. @throws Error when this node does not become the founder; if the outcome is unknown, it still may. */
export async function endOnServers(own: NodeAddress, { store, mirror, file }: ReturningStore): Promise<void> {
  const untilMs = realClock.monotonicMs() + attemptsMs;
  store.hold();
  try {
    for (;;) {
      if (mirror.problem !== null) throw new Error(mirror.problem);
      const { state } = mirror;
      writeCopy(file.returnPath, returnedToFounder(state, own.nodeId));
      if (await mirror.end({ founder: own, after: state.revision })) return;
      if (realClock.monotonicMs() > untilMs)
        throw new Error('other nodes change the configuration all the time');
    }
  } catch (error) {
    store.release();
    throw error;
  }
}

/** Stores durably that the configuration is at a founder, which may be this node. */
export function recordStoreEnd(
  folder: Pick<DataFolder, 'path' | 'nodeId'>,
  file: MembershipFile,
  { end, content }: EndedStore,
): void {
  const { natsMembership } = file;
  if (natsMembership === null) throw new Error('this node does not use NATS servers');
  const { nats: _, state: __, ...secrets } = natsMembership;
  const { founder } = end;
  const membership = { ...secrets, founder };
  if (founder.nodeId === folder.nodeId) {
    const { epoch, ...returned } = preparedIn(file, end, content);
    writeConfigFile(configurationPath(folder.path), returned);
    file.leaveServers({ ...membership, state: 'founder', epoch }, null);
    return;
  }
  const member: FounderMembership = { ...membership, state: 'member' };
  if (content === null) {
    file.leaveServers(member, null);
    return;
  }
  const { epoch, ...returned } = returnedToFounder(content, founder.nodeId);
  writeCopy(file.nextCopyPath, returned);
  const { revision } = returned;
  file.leaveServers(
    { ...member, epoch },
    { identity: secrets.clusterUuid, revision, epoch, founder: founder.nodeId },
  );
}

/** Follows a founder that other nodes named. What this node has of the servers' store may not be the newest. */
export function recordNewFounder(file: MembershipFile, founder: NodeAddress, epoch: number): void {
  const { natsMembership } = file;
  if (natsMembership === null) throw new Error('this node does not use NATS servers');
  const { nats: _, ...rest } = natsMembership;
  file.leaveServers({ ...rest, founder, epoch, state: 'member' }, null);
}

/** The content of the servers: as this node has it in memory, else as it prepared it in a file. */
function preparedIn(file: MembershipFile, end: StoreEnd, content: StoreContent | null): ReturnedContent {
  if (content !== null) return returnedToFounder(content, end.founder.nodeId);
  const found = existsSync(file.returnPath) ? readCopy(file.returnPath) : null;
  if (found?.revision !== firstRevisionAfter(end.after))
    throw new StartError(
      `the cluster has moved its configuration to this node, and ${file.returnPath} does not have it: was an older data folder put back? ` +
        'Fail this node over with allowUnsafe at another one, which then takes the configuration over from its copy',
    );
  const cluster = found.records.find(({ key }) => key === clusterKey)?.json as string;
  return { ...found, epoch: (JSON.parse(cluster) as ClusterState).revEpoch as number };
}

function readCopy(path: string): StoreContent {
  const copy = new ConfigCopyFile(path);
  try {
    return copy.load();
  } finally {
    copy.close();
  }
}

function writeCopy(path: string, { records, revision }: StoreContent): void {
  const copy = new ConfigCopyFile(path);
  copy.remove();
  copy.save({ records, revision });
  copy.close();
}
