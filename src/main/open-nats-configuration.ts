// Opens the configuration of a node on NATS servers. Loaded only for such a node. The data folder and the bucket belong together: the bucket
// of a cluster that this node did not join, and a folder whose bucket is gone, are refused.
import { existsSync } from 'node:fs';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import type { NatsSource } from '#cluster/joining/join-messages.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { FinalError } from '#replog/mirror/config-link.ts';
import { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import type { EndedStore } from '#replog/mirror/store-end.ts';
import { NatsConfigLink } from '#replog/nats/nats-config-link.adapter.ts';
import { parseServers } from '#replog/nats/nats-servers.ts';
import { configurationPath, type DataFolder } from './data-folder.ts';
import type { MembershipFile, NatsMembership } from './membership-file.ts';
import { noteCopy, openCopy } from './open-config-copy.ts';
import { hasData } from './open-configuration.ts';
import { StartError } from './start-error.ts';

/** The key of the id of the data folder with which the cluster began; written before any other key. */
const originKey = 'engine/founder';

export interface NatsConfiguration {
  store: MirroredConfigStore;
  /** For the operator: where the configuration is, and how safely stored. */
  description: string;
}

/** The configuration has moved from the NATS servers to a founder. */
export interface EndedConfiguration {
  ended: EndedStore;
}

/**
 * Without a copy of the configuration it waits for servers that cannot be reached, and reports that on standard error. Null: the cluster
 * removed this node; the membership file records that.
 */
export async function openNatsConfiguration(
  folder: DataFolder,
  { servers, bucket, files, own }: NatsSource,
  { file, log }: { file: MembershipFile; log: Log },
): Promise<NatsConfiguration | EndedConfiguration | null> {
  const { natsMembership } = file;
  checkFolder(folder, bucket, natsMembership !== null);
  const link = new NatsConfigLink({
    servers: parseServers(servers),
    bucket,
    files,
    clock: realClock,
    random: realRandom,
    mayCreate: natsMembership === null && folder.natsState === null && !hasData(folder.path),
  });
  const store = new MirroredConfigStore({
    link,
    mayEnd: own === true, // the configuration can go back to a founder
    clock: realClock,
    random: realRandom,
    log: log.child('configuration'),
    copy: openCopy(file.copyPath, folder.natsState?.revision ?? null, log),
    seen: {
      load: () => folder.natsState,
      save: (head) => folder.keepNatsState({ bucket, ...head }),
    },
  });
  try {
    await store.start((reason) => process.stderr.write(`divan: waiting for ${link.name}: ${reason}\n`));
    const ended = await Promise.race([store.ended, null]);
    if (ended !== null) {
      await store[Symbol.asyncDispose]();
      return { ended };
    }
    noteCopy(store, file.copyPath, log);
    if (natsMembership === null) await claim(folder, store, bucket);
    else await checkCluster(store, natsMembership, bucket);
    if (!(await hasLeft(store, folder))) return { store, description: describe(link, bucket, store.problem) };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error instanceof FinalError
      ? new StartError(`${link.name}: ${error.message}`, { cause: error })
      : error;
  }
  await store[Symbol.asyncDispose]();
  file.write({ state: 'leaving' });
  return null;
}

/** A node may delete its data only if its id is listed as removed, never because its entry is missing. */
async function hasLeft(store: ConfigStore, { nodeId }: DataFolder): Promise<boolean> {
  const { left = [] } = (await store.get<ClusterState>(clusterKey))?.value ?? {};
  return nodeId !== null && left.includes(nodeId);
}

async function checkCluster(
  store: ConfigStore,
  { clusterUuid }: NatsMembership,
  bucket: string,
): Promise<void> {
  const uuid = (await store.get<ClusterState>(clusterKey))?.value.uuid;
  if (uuid === clusterUuid) return;
  throw new StartError(
    `the key-value bucket "${bucket}" holds the configuration of another cluster than the one that this node joined: check the servers in --engine`,
  );
}

function checkFolder(folder: DataFolder, bucket: string, isMember: boolean): void {
  if (!isMember && existsSync(configurationPath(folder.path)))
    throw new StartError(
      `the data folder ${folder.path} has an embedded configuration, which this version cannot move to NATS: start it without --engine, or use another --data-dir`,
    );
  const { natsState } = folder;
  if (natsState !== null && natsState.bucket !== bucket)
    throw new StartError(
      `the data folder ${folder.path} uses the key-value bucket "${natsState.bucket}", not "${bucket}": start it with --nats-bucket ${natsState.bucket}`,
    );
}

/** Only one of two nodes that start at the same time writes the key. */
async function claim(folder: DataFolder, store: MirroredConfigStore, bucket: string): Promise<void> {
  const id = folder.id();
  if (store.revision() === 0 && (await store.put(originKey, id, 0)) !== null) return;
  if ((await store.get<string>(originKey))?.value === id) return;
  throw new StartError(
    `the key-value bucket "${bucket}" holds the configuration of another node, or of a data folder that was lost; start a node that joins without --engine and with --join, or use another --nats-bucket`,
  );
}

function describe(link: NatsConfigLink, bucket: string, problem: string | null): string {
  if (problem !== null) return `${link.name}, bucket ${bucket}, which cannot be used now: ${problem}`;
  const { servers, replicas } = link.servers;
  const versions = [...new Set(servers.map(({ version }) => version))].join(', ');
  const safety =
    replicas > 1
      ? `${replicas} copies; its servers must run with sync_interval: always`
      : 'one copy, unsynced unless its server runs with sync_interval: always: for development';
  return `${link.name} (${versions}), bucket ${bucket}, ${safety}`;
}
