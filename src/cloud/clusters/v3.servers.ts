// Server groups of v3: reads requests, writes replies, and checks changes.
import { invalid } from '../answers/api-error.ts';
import { refuseUnoffered, type ServerGroup } from './cluster-spec.ts';
import { awsInstances, azureInstances, gcpInstances } from './instances.ts';
import type { V3Server } from './v3.contract.ts';

const instances = { aws: awsInstances, azure: azureInstances, gcp: gcpInstances };

export function groupOf(server: V3Server, provider: keyof typeof instances): ServerGroup {
  const memoryGib = instances[provider][server.compute];
  if (memoryGib === undefined) {
    throw invalid(
      `servers.compute: "${server.compute}" is no instance of ${provider}; there are ${Object.keys(instances[provider]).join(', ')}`,
    );
  }
  return { size: server.size, services: server.services, memoryGib, asked: server };
}

/** Only the storage can change, which is stored as requested; the one node of a cluster keeps its memory and services. */
export function changedServers(present: readonly ServerGroup[], wanted: readonly V3Server[]): ServerGroup[] {
  refuseUnoffered(wanted);
  const [[group], [server]] = [present as [ServerGroup], wanted as [V3Server]];
  const { compute } = serverReply(group);
  if (server.compute !== compute)
    throw invalid(
      `servers.0.compute: must stay "${compute}": a node cannot be given another instance yet; make a new cluster`,
    );
  const services = [...group.services].sort().join(', ');
  if ([...server.services].sort().join(', ') !== services)
    throw invalid(
      `servers.0.services: must stay "${services}": a node cannot be given other services yet; make a new cluster`,
    );
  return [{ ...group, asked: server }];
}

/** The group as requested; a v2 group in the form of v3. */
export function serverReply({ size, services, asked }: ServerGroup) {
  const { compute, storage, aws, azure } = asked as Partial<V3Server> & {
    aws?: { instanceSize: string; ebsSizeGib: number };
    azure?: { instanceSize: string; volumeType: string };
  };
  return {
    size,
    services: [...services],
    compute: compute ?? aws?.instanceSize ?? azure?.instanceSize ?? '',
    storage: {
      type: storage?.type ?? azure?.volumeType ?? 'GP3',
      IOPS: storage?.IOPS ?? 0,
      size: storage?.size ?? aws?.ebsSizeGib ?? 0,
    },
  };
}
