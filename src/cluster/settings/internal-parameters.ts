// The internal settings: limits with an effect, and values for features that this version does not have.
import { numberRules, switches } from '../internal-settings/internal-settings.ts';
import { internalNames } from '../xdcr/replication-defaults.ts';
import { integerRules } from '../xdcr/replication-settings.ts';
import { type Effect, type SettingGroup, setting } from './setting.ts';

type NumberName = keyof typeof numberRules;

const limitNote =
  'further ones get 503 with `Retry-After` before credentials are checked, except `/internalSettings` and diagnostics; empty: no limit';
const notesOfEffective: Partial<Record<NumberName, string>> = {
  restRequestLimit: `concurrent requests on the REST ports, including streams; ${limitNote}`,
  capiRequestLimit: `concurrent requests on the view ports; ${limitNote}`,
  dropRequestMemoryThresholdMiB: `memory of the cluster manager without the data service, above which requests are refused: ${limitNote}`,
  maxBucketCount: 'the maximum number of buckets',
  rebalanceMovesPerNode:
    'how many shards of a node a rebalance moves at once, also one that is under way; the same as in `/settings/rebalance`, which accepts at most 64',
};

const enforcing =
  'enforces `limits` of local users (`PUT /settings/rbac/users/local/:user`: of kv, query and clusterManager) and of scopes (collections, indexes)';

function effectOf(name: string): Effect {
  if (name === 'enforceLimits') return 'effective';
  if (name in notesOfEffective) return 'effective';
  if (name in internalNames) return 'effective';
  if (name.startsWith('xdcr')) return 'kept';
  return name.startsWith('rebalanceMoves') ? 'compactingRebalance' : 'views';
}

function noteOfDefault(name: NumberName): string | undefined {
  if (!(name in internalNames)) return undefined;
  const parameter = internalNames[name as keyof typeof internalNames];
  return `once set, the default of \`${parameter}\` of replications that are created later, at most ${integerRules[parameter].max}, unless \`/settings/replications\` sets it`;
}

const numbers = (Object.keys(numberRules) as NumberName[]).map((name) => {
  const { min, max, default: fallback } = numberRules[name];
  const range = `${min}–${max}${fallback === null ? ', empty' : ''}`;
  return setting(
    name,
    fallback === null ? 'empty' : `${fallback}`,
    range,
    'live',
    effectOf(name),
    notesOfEffective[name] ?? noteOfDefault(name),
  );
});

export const internalParameters: readonly SettingGroup[] = [
  {
    title: 'Internal settings',
    routes: ['internal_settings.change'],
    settings: [
      ...numbers,
      ...switches.map((name) =>
        setting(
          name,
          '`false`',
          '`true`, `false`',
          'live',
          effectOf(name),
          name === 'enforceLimits' ? enforcing : undefined,
        ),
      ),
    ],
  },
  {
    title: 'Concurrent view indexers',
    routes: ['parallel_indexers.change'],
    settings: [
      setting('globalValue', '4; required', '1–1024', 'live', 'views', 'the same as `maxParallelIndexers`'),
    ],
  },
];
