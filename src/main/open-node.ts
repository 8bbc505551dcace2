// Opens the configuration that a data folder names, and creates the node on it.
import { SecretBox } from '#auth/secret-box.ts';
import type { NodeMembership } from '#cluster/joining/join-messages.ts';
import type { FolderLock } from '#ports/folder-lock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import type { DataFolder } from './data-folder.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { MembershipFile } from './membership-file.ts';
import { Node } from './node.ts';
import { ownIdentity } from './node-identity.ts';
import type { NodeOptions } from './node-options.ts';
import { openConfiguration } from './open-configuration.ts';
import type { OpenedNode } from './running-node.ts';
import { StartError } from './start-error.ts';

export interface FolderParts {
  folder: DataFolder;
  reserve: DiskReserve;
  held: FolderLock;
  log: Log;
}

/** Completes a recorded join or removal first. Calls `lost` when the data service ends. */
export async function openNode(
  parts: FolderParts,
  options: NodeOptions,
  membership: NodeMembership,
  lost: (reason: Error) => void,
): Promise<OpenedNode> {
  const { folder, held, log } = parts;
  new MembershipFile(folder.path).complete();
  const own = secretsOf(folder);
  const { store, description } = await configurationOf(parts, options);
  const member = new MembershipFile(folder.path).read();
  const secrets = member === null ? own : new SecretBox(Buffer.from(member.clusterKey, 'base64'), realRandom);
  const identity = await ownIdentity(folder, store, realRandom);
  const node = new Node(options, {
    ...{ secrets, store, identity, log, membership },
    lock: held.place,
    onLost: (reason) => lost(new Error('the data service ended', { cause: reason })),
  });
  return { node, identity, description, store };
}

async function configurationOf(
  { folder, reserve, held, log }: FolderParts,
  options: NodeOptions,
): Promise<{ store: ConfigStore; description: string | null }> {
  const file = new MembershipFile(folder.path);
  if (file.read() !== null) {
    if (isNatsText(options.engine)) throw new StartError(memberOnNats(folder));
    const { openMemberConfiguration } = await import('./open-member-configuration.ts');
    const opened = await openMemberConfiguration(file, options['operator-address'], log);
    if (opened !== null) return opened;
    file.complete();
    log.warn('node.removed');
    process.stderr.write('divan: the cluster removed this node, which starts as a new one\n');
  }
  if (!isNatsText(options.engine)) {
    const store = openConfiguration(options['data-dir'], { spareRoom: reserve, guard: held.place });
    return { store, description: null };
  }
  const { openNatsConfiguration } = await import('./open-nats-configuration.ts');
  return openNatsConfiguration(folder, options, log);
}

const memberOnNats = ({ path }: DataFolder): string =>
  `the node of the data folder ${path} is a member of a cluster whose founder stores the configuration: start it without --engine`;

function secretsOf(folder: DataFolder): SecretBox {
  try {
    return folder.secrets();
  } catch (error) {
    const reason = (error as Error).message;
    throw new StartError(`cannot use the secret.key of the data folder ${folder.path}: ${reason}`, {
      cause: error,
    });
  }
}
