// Handlers for allowlists.
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
  ...bindBoth(ListAllowlist, async ({ subject }) => {
    const { row } = await ready.requireReady(subject);
    return { status: 200, body: (await allowlist.list(row)).map(entryReply) };
  }),
  ...bindBoth(AppendAllowlist, async ({ subject, body }) => {
    const { row } = await ready.requireReady(subject);
    await allowlist.append(row, body);
    return { status: 202 };
  }),
  ...bindBoth(ReplaceAllowlist, async ({ subject, body }) => {
    const { row } = await ready.requireReady(subject);
    await allowlist.replace(row, body);
    return { status: 202 };
  }),
  ...bindBoth(DeleteAllowlistEntry, async ({ subject, body }) => {
    const { row } = await ready.requireReady(subject);
    await allowlist.remove(row, body.cidrBlock);
    return { status: 204 };
  }),
];
