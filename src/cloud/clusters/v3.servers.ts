// Server groups of v3: reads requests and writes replies.
import { invalid } from '../answers/api-error.ts';
import type { ServerGroup } from './cluster-spec.ts';
import { awsInstances, azureInstances, gcpInstances } from './instances.ts';
import type { V3Server } from './v3.contract.ts';

const instances = { aws: awsInstances, azure: azureInstances, gcp: gcpInstances };
export type Provider = keyof typeof instances;

export function groupOf(server: V3Server, provider: Provider): ServerGroup {
  const offered: Readonly<Record<string, number>> = instances[provider];
  // Only own members: every object inherits others, such as `constructor`.
  const memoryGib = Object.hasOwn(offered, server.compute) ? offered[server.compute] : undefined;
  if (memoryGib === undefined) {
    throw invalid(
      `servers.compute: "${server.compute}" is no instance of ${provider}; the instances are ${Object.keys(offered).join(', ')}`,
    );
  }
  return { size: server.size, services: server.services, memoryGib, asked: server };
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
