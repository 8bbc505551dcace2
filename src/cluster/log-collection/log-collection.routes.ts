// Maps requests for support bundles to their collection.
import { join } from 'node:path';
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { Product } from '../config/product.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { type BundleSources, bundleEntries } from './bundle-entries.ts';
import { type CollectionForm, readCollectionForm } from './collection-form.ts';
import * as contract from './log-collection.contract.ts';
import type { LogCollection } from './log-collection.ts';
import { Redactor } from './redactor.ts';

export interface LogCollectionRoutesDeps extends Pick<BundleSources, 'reads' | 'events' | 'files'> {
  logCollection: LogCollection;
  settings: SettingsStore;
  view: ClusterView;
  product: Product;
  edition: Edition;
  clock: Clock;
  random: Random;
  /** The folder of the node's log. */
  logFolder: string;
  audit: { readonly folder: string };
  /** Names of users. */
  userNames: () => readonly string[];
}

const setting = 'log-redaction';
const initial: { level: contract.RedactionLevel } = { level: 'none' };
const readAudit = 'cluster.admin.security!read';

export function logCollectionRoutes(deps: LogCollectionRoutesDeps): BoundRoute[] {
  const { logCollection, settings, edition, view } = deps;
  const isEnterprise = edition === 'enterprise';
  const requireEnterprise = () => {
    if (!isEnterprise) throw generalRefusals.enterpriseOnly();
  };
  const settingsReply = ({ level }: typeof initial) => reply.json({ logRedactionLevel: level });
  return [
    bind(contract.StartCollection, async ({ body }, context) => {
      const { level } = await settings.read(setting, initial);
      const form = readCollectionForm(body, {
        otpNode: view.self.otpNode,
        isEnterprise,
        redaction: level,
      });
      if (form.auditLog && !context.may(readAudit)) throw generalRefusals.forbidden([readAudit]);
      if (!start(deps, form, context)) throw settingsRefusals.collectionRuns();
      return reply.json([]);
    }),
    bind(contract.CancelCollection, async () => {
      await logCollection.cancel();
      return reply.json([]);
    }),
    bind(contract.GetRedaction, async () => {
      requireEnterprise();
      return settingsReply(await settings.read(setting, initial));
    }),
    bind(contract.ChangeRedaction, async ({ body }) => {
      requireEnterprise();
      return settingsReply(await settings.change(setting, initial, { level: body.logRedactionLevel }));
    }),
  ];
}

function start(deps: LogCollectionRoutesDeps, form: CollectionForm, context: Context): boolean {
  const { logCollection, files, random, view, product, clock, audit } = deps;
  const { otpNode } = view.self;
  const isRedacted = form.redaction === 'partial';
  const salt = form.salt ?? random.bytes(32).toString('base64');
  const redactor = isRedacted ? new Redactor(salt, deps.userNames()) : null;
  const facts = {
    node: otpNode,
    version: product.version,
    cluster: view.cluster.uuid,
    redaction: form.redaction,
    startedAt: new Date(clock.wallMs()).toISOString(),
    runtime: process.versions,
    platform: process.platform,
    architecture: process.arch,
    uptimeSeconds: process.uptime(),
  };
  return logCollection.start({
    otpNode,
    path: (startedMs) => {
      const time = new Date(startedMs).toISOString().slice(0, 19).replaceAll(':', '');
      const name = `collectinfo-${time}-${otpNode}${isRedacted ? '-redacted' : ''}.zip`;
      return join(form.logDir ?? files.folder, name);
    },
    entries: (signal) =>
      bundleEntries(
        {
          ...deps,
          facts,
          auditFolder: form.auditLog ? audit.folder : null,
          buckets: view.liveBuckets().map(({ name }) => name),
        },
        { ...context, signal },
        redactor,
      )(),
  });
}
