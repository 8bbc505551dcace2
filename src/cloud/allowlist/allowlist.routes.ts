// Requests about allowlists.
import type { ReadyClusters } from '../clusters/ready-cluster.ts';
import type { BoundOperation } from '../http/operation.ts';
import { bindBoth } from '../http/versions.ts';
import {
  AppendAllowlist,
  DeleteAllowlistEntry,
  entryReply,
  ListAllowlist,
  ReplaceAllowlist,
} from './allowlist.contract.ts';
import type { AllowlistService } from './allowlist.service.ts';

export const allowlistOperations = (ready: ReadyClusters, allowlist: AllowlistService): BoundOperation[] => [
  ...bindBoth(ListAllowlist, async ({ caller, params }, version) => {
    const { row } = await ready.forReading(caller, params['id'] as string, version);
    return { status: 200, body: (await allowlist.list(row)).map(entryReply) };
  }),
  ...bindBoth(AppendAllowlist, async ({ caller, params, body }, version) => {
    const { row } = await ready.forWriting(caller, params['id'] as string, version);
    await allowlist.append(row, body);
    return { status: 202 };
  }),
  ...bindBoth(ReplaceAllowlist, async ({ caller, params, body }, version) => {
    const { row } = await ready.forWriting(caller, params['id'] as string, version);
    await allowlist.replace(row, body);
    return { status: 202 };
  }),
  ...bindBoth(DeleteAllowlistEntry, async ({ caller, params, body }, version) => {
    const { row } = await ready.forWriting(caller, params['id'] as string, version);
    await allowlist.remove(row, body.cidrBlock);
    return { status: 204 };
  }),
];
