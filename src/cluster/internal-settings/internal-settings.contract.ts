// Routes of the internal settings, and their answers.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import type { InternalSettings } from './internal-settings.ts';

const readIndexes: Access = { kind: 'permission', permission: 'cluster.settings.indexes!read' };
const writeIndexes: Access = { kind: 'permission', permission: 'cluster.settings.indexes!write' };

export const GetInternalSettings = defineRoute({
  id: 'internal_settings.read',
  method: 'GET',
  path: '/internalSettings',
  access: { kind: 'permission', permission: 'cluster.admin.settings!read' },
  answer: { json: shape.record(shape.either(shape.number, shape.boolean, shape.oneOf(''))) },
  doc: 'Limits on requests and buckets, and parameters of services that this version does not run. Never refused by a limit on requests.',
});

export const SetInternalSettings = defineRoute({
  id: 'internal_settings.change',
  method: 'POST',
  path: '/internalSettings',
  access: { kind: 'permission', permission: 'cluster.admin.settings!write' },
  bodyKind: 'anyForm',
  doc: 'Changes the internal settings that are sent, all or none. Never refused by a limit on requests.',
});

export const GetParallelIndexers = defineRoute({
  id: 'parallel_indexers.read',
  method: 'GET',
  path: '/settings/maxParallelIndexers',
  access: readIndexes,
  answer: { json: shape.object({ globalValue: shape.integer, nodes: shape.record(shape.integer) }) },
  doc: 'The maximum of concurrent view indexers, stored without effect, since this version serves no views.',
});

export const SetParallelIndexers = defineRoute({
  id: 'parallel_indexers.change',
  method: 'POST',
  path: '/settings/maxParallelIndexers',
  access: writeIndexes,
  bodyKind: 'form',
  doc: 'Sets the maximum of concurrent view indexers, which is stored without effect.',
});

/** An unset limit reads as an empty text. */
export const internalAnswer = (settings: InternalSettings): Record<string, number | boolean | string> =>
  Object.fromEntries(
    Object.keys(settings)
      .sort()
      .map((name) => [name, settings[name as keyof InternalSettings] ?? '']),
  );

export const parallelIndexersAnswer = ({ maxParallelIndexers }: InternalSettings, otpNode: string) => ({
  globalValue: maxParallelIndexers,
  nodes: { [otpNode]: maxParallelIndexers },
});
