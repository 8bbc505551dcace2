// Handlers of replication between clusters.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, type Params, reply } from '#contract/route.ts';
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import type { ReferenceChecks } from './reference-checks.ts';
import { readReferenceForm } from './reference-form.ts';
import type { ReferencesService } from './references.service.ts';
import { booleanOf } from './replication-settings.ts';
import type { ReplicationsService } from './replications.service.ts';
import * as contract from './xdcr.contract.ts';
import type { StoredReference, StoredReplication } from './xdcr-state.ts';

export interface XdcrRoutesDeps {
  readonly checks: Pick<ReferenceChecks, 'statusOf'>;
  readonly references: ReferencesService;
  readonly replications: ReplicationsService;
}

type Right = 'read' | 'write' | 'execute';

export const xdcrRoutes = (deps: XdcrRoutesDeps): BoundRoute[] => [
  ...referenceRoutes(deps),
  ...replicationRoutes(deps),
  ...settingsRoutes(deps),
];

const isTrial = (query: Form): boolean => booleanOf(query['just_validate'] ?? '') ?? false;

function referenceRoutes({ references, checks }: XdcrRoutesDeps): BoundRoute[] {
  const listed = (reference: StoredReference) => ({
    ...contract.shownReference(reference),
    connectivityStatus: checks.statusOf(reference),
  });
  return [
    bind(contract.ListReferences, () => reply.json(references.list().map(listed))),
    bind(contract.CreateReference, async ({ body, query }) => {
      const created = await references.create(readReferenceForm(body), isTrial(query));
      return reply.json(isTrial(query) ? [] : contract.shownReference(created));
    }),
    bind(contract.EditReference, async ({ params, body, query }) => {
      const edited = await references.edit(params['name'] as string, readReferenceForm(body), isTrial(query));
      return reply.json(isTrial(query) ? [] : contract.shownReference(edited));
    }),
    bind(contract.DeleteReference, async ({ params }) => {
      await references.remove(params['name'] as string);
      return reply.json('ok');
    }),
  ];
}

function replicationRoutes({ replications }: XdcrRoutesDeps): BoundRoute[] {
  return [
    bind(contract.CreateReplication, async ({ body, query }, context) => {
      const authorize = (bucket: string) => requireRights(context, bucket, ['write']);
      return reply.json({ id: await replications.create(body, isTrial(query), authorize) });
    }),
    ...contract.cancellations.map((route) =>
      bind(route, async ({ params }, context) => {
        const found = findReplication(replications, params);
        requireRights(context, found.fromBucket, ['write']);
        await replications.remove(found.id);
        return reply.json([]);
      }),
    ),
    bind(contract.ListReplications, (_, context) => {
      const visible = replications.list().filter(({ fromBucket }) => may(context, fromBucket, 'read'));
      return reply.json(visible.map(contract.shownReplication));
    }),
  ];
}

function settingsRoutes({ replications }: XdcrRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetDefaults, () => reply.json(contract.shownDefaults(replications.defaults()))),
    bind(contract.ChangeDefaults, async ({ body, query }) => {
      const changed = await replications.changeDefaults(body, isTrial(query));
      return reply.json(isTrial(query) ? [] : contract.shownDefaults(changed));
    }),
    bind(contract.GetReplicationSettings, ({ params }, context) => {
      const found = findReplication(replications, params);
      requireRights(context, found.fromBucket, ['read']);
      return reply.json(contract.shownReplicationSettings(found));
    }),
    bind(contract.ChangeReplicationSettings, async ({ params, body, query }, context) => {
      const found = findReplication(replications, params);
      requireRights(context, found.fromBucket, rightsToChange(body));
      const changed = await replications.change(found.id, body, isTrial(query));
      return reply.json(isTrial(query) ? [] : contract.shownReplicationSettings(changed));
    }),
  ];
}

/** To pause and to resume needs the right to execute, all other settings the right to write. */
function rightsToChange(form: Form): Right[] {
  const isPause = form['pauseRequested'] !== undefined;
  const hasOthers = Object.keys(form).some((name) => name !== 'pauseRequested');
  if (!isPause) return ['write'];
  return hasOthers ? ['execute', 'write'] : ['execute'];
}

/** Some clients encode the id twice. @throws AppError when there is no such replication */
function findReplication(replications: ReplicationsService, params: Params): StoredReplication {
  const id = params['replication'] as string;
  const found = replications.find(id) ?? replications.find(decoded(id));
  if (found === undefined) throw xdcrRefusals.unknownReplication();
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const permissionOf = (bucket: string, right: Right): string => `cluster.bucket[${bucket}].xdcr!${right}`;

const may = (context: Context, bucket: string, right: Right): boolean =>
  context.may(permissionOf(bucket, right));

function requireRights(context: Context, bucket: string, rights: readonly Right[]): void {
  const missing = rights.filter((right) => !may(context, bucket, right));
  if (missing.length > 0)
    throw generalRefusals.forbidden(missing.map((right) => permissionOf(bucket, right)));
}
