// Maps requests for support bundles to their collection.
import { join } from 'node:path';
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { Random } from '#ports/random.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { Product } from '../config/product.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import type { InterNode } from '../peers/inter-node.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { type BundleSources, bundleEntries } from './bundle-entries.ts';
import { type CollectionForm, readCollectionForm } from './collection-form.ts';
import * as contract from './log-collection.contract.ts';
import type { LogCollection, NodeRun } from './log-collection.ts';
import { NodeBundles, type WantedBundle } from './node-bundles.ts';
import { Redactor } from './redactor.ts';

export interface LogCollectionRoutesDeps extends Pick<BundleSources, 'routes' | 'events' | 'files'> {
  logCollection: LogCollection;
  interNode: Pick<InterNode, 'peers'>;
  settings: SettingsStore;
  view: ClusterView;
  product: Product;
  edition: Edition;
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
  const bundles = new NodeBundles(deps.interNode.peers, (wanted, signal) =>
    writeBundle(deps, wanted, { signal, report: () => {} }, null),
  );
  const settingsReply = ({ level }: typeof initial) => reply.json({ logRedactionLevel: level });
  return [
    bind(contract.StartCollection, async ({ body }, context) => {
      const { level } = await settings.read(setting, initial);
      const form = readCollectionForm(body, {
        otpNodes: view.cluster.nodes.map(({ otpNode }) => otpNode),
        isEnterprise,
        redaction: level,
      });
      if (form.auditLog && !context.may(readAudit)) throw generalRefusals.forbidden([readAudit]);
      if (!start(deps, bundles, form, context)) throw settingsRefusals.collectionRuns();
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

function start(
  deps: LogCollectionRoutesDeps,
  bundles: NodeBundles,
  form: CollectionForm,
  context: Context,
): boolean {
  const { view, random, logCollection } = deps;
  const { logDir, redaction, auditLog } = form;
  const salt = form.salt ?? random.bytes(32).toString('base64');
  const wanted = { id: random.uuid(), logDir, redaction, salt, auditLog };
  const wantedNodes = view.cluster.nodes.filter(({ otpNode }) => form.nodes.includes(otpNode));
  const collectors = wantedNodes.map(({ otpNode, uuid }) => {
    const collect = ({ startedMs, ...run }: NodeRun): Promise<string> =>
      otpNode === view.self.otpNode
        ? writeBundle(deps, { ...wanted, startedMs }, run, context)
        : bundles.collect(uuid, { ...wanted, startedMs }, run.signal);
    return [otpNode, collect] as const;
  });
  return logCollection.start({ otpNode: view.self.otpNode, collectors: Object.fromEntries(collectors) });
}

/**
 * Writes this node's bundle. `context`: the caller; the bundle contains the answers of the REST API that the caller may read. Null: another node
 * was asked for the collection, and the bundle of that node contains the answers.
 */
async function writeBundle(
  deps: LogCollectionRoutesDeps,
  { startedMs, logDir, redaction, salt, auditLog }: WantedBundle,
  { signal, report }: Omit<NodeRun, 'startedMs'>,
  context: Context | null,
): Promise<string> {
  const { files, view, product, audit } = deps;
  const { otpNode } = view.self;
  const isRedacted = redaction === 'partial';
  const redactor = isRedacted ? new Redactor(salt, deps.userNames()) : null;
  const startedAt = new Date(startedMs).toISOString();
  const time = startedAt.slice(0, 19).replaceAll(':', '');
  const name = `collectinfo-${time}-${otpNode}${isRedacted ? '-redacted' : ''}.zip`;
  const path = join(logDir ?? files.folder, name);
  report({ path });
  const facts = {
    node: otpNode,
    version: product.version,
    cluster: view.cluster.uuid,
    redaction,
    startedAt,
    runtime: process.versions,
    platform: process.platform,
    architecture: process.arch,
    uptimeSeconds: process.uptime(),
  };
  const auditFolder = auditLog ? audit.folder : null;
  const buckets = view.liveBuckets().map((bucket) => bucket.name);
  const caller = context && { ...context, signal };
  const entries = await bundleEntries({ ...deps, facts, auditFolder, buckets }, caller, redactor)();
  let written = 0;
  const entryWritten = () => report({ progress: Math.floor((100 * ++written) / entries.length) });
  await files.write(path, entries, { signal, entryWritten });
  return path;
}
