// A manager whose REST calls to another cluster are answered by a target of `xdcr-target`.
import { aManager, type ManagerOptions } from './manager.ts';
import { aTarget, type Target, targetUuid } from './xdcr-target.ts';

export const reference = { name: 'there', hostname: 'far:8091', username: 'u', password: 'pw' };
export const replication = {
  fromBucket: 'b',
  toCluster: 'there',
  toBucket: 'taken',
  replicationType: 'continuous',
};
export const replicationId = `${targetUuid}/b/taken`;

export async function aNodeWithTarget(target: Target = {}, options: ManagerOptions = {}) {
  const current = { target };
  const manager = await aManager({
    callTarget: (...call) => aTarget(current.target)(...call),
    ...options,
  });
  await manager.request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
  const post = (path: string, form: Record<string, string>, as?: string) =>
    manager.request(path, { method: 'POST', form, ...(as !== undefined && { as }) });
  return { ...manager, current, post };
}

export const referencesPath = '/pools/default/remoteClusters';
