// Routes of the automatic reactions to failed nodes.
import type { JsonSchema } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { autoFailoverShape, autoReprovisionShape, failoverShape } from '../settings/settings.shapes.ts';

const read: Access = { kind: 'permission', permission: 'cluster.settings!read' };
const write: Access = { kind: 'permission', permission: 'cluster.settings!write' };

const reading = (id: string, path: string, json: JsonSchema, doc: string) =>
  defineRoute({ id, method: 'GET', path, access: read, answer: { json }, doc });

const changing = (id: string, path: string, doc: string) =>
  defineRoute({
    id,
    method: 'POST',
    path,
    access: write,
    bodyKind: 'form',
    acceptsJustValidate: 'by handler',
    doc,
  });

const resetting = (id: string, path: string, doc: string) =>
  defineRoute({ id, method: 'POST', path, access: write, doc });

export const GetAutoFailover = reading(
  'auto_failover.read',
  '/settings/autoFailover',
  autoFailoverShape,
  'The settings of automatic failover.',
);
export const ChangeAutoFailover = changing(
  'auto_failover.change',
  '/settings/autoFailover',
  'Changes the settings of automatic failover. Without `enabled=true` the other parameters are ignored.',
);
export const ResetAutoFailover = resetting(
  'auto_failover.reset',
  '/settings/autoFailover/resetCount',
  'Resets the number of nodes that were failed over automatically to zero.',
);
export const GetAutoReprovision = reading(
  'auto_reprovision.read',
  '/settings/autoReprovision',
  autoReprovisionShape,
  'The settings of automatic reprovisioning: ephemeral buckets are activated on other nodes after their node restarted.',
);
export const ChangeAutoReprovision = changing(
  'auto_reprovision.change',
  '/settings/autoReprovision',
  'Changes the settings of automatic reprovisioning. Without `enabled=true` the other parameter is ignored.',
);
export const ResetAutoReprovision = resetting(
  'auto_reprovision.reset',
  '/settings/autoReprovision/resetCount',
  'Resets the number of nodes that were reprovisioned automatically to zero.',
);
export const GetFailover = reading(
  'failover.read',
  '/settings/failover',
  failoverShape,
  'Whether failover preserves durable writes.',
);
export const ChangeFailover = defineRoute({
  ...changing('failover.change', '/settings/failover', 'Changes whether failover preserves durable writes.'),
  acceptsJustValidate: true,
});
