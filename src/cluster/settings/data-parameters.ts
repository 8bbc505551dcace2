// The data service's global settings. Those without an effect tune parts that only published servers have; they are stored for tools
// that set them.
import { dataRules, dataSettingNames, integerMax, threadsMax } from '../data-settings/data-settings.ts';
import { type Change, type Effect, type SettingGroup, setting } from './setting.ts';

type Name = (typeof dataSettingNames)[number];

const threadWords =
  '`default`: 1, `disk_io_optimized`: one per processor, at least 4; each running thread takes about 12 MB';

const effective: Partial<Record<Name, [Effect, string, Change?]>> = {
  max_connections: [
    'effective',
    'the maximum number of connections to the data ports of a node; further ones are closed at once',
  ],
  system_connections: [
    'reservedConnections',
    'the part of `max_connections` that published servers reserve for other nodes',
  ],
  connection_idle_time: [
    'effective',
    'seconds; 0: no limit. Connections that wait for a reply or have a change stream are not idle',
  ],
  verbosity: [
    'effective',
    'above 0 the data service logs all its messages regardless of `--log-level`, including opened and closed connections',
  ],
  num_reader_threads: [
    'effective',
    `threads that read documents and backfills of change streams from disk; another one is started when all running ones are busy; ${threadWords}`,
  ],
  num_writer_threads: [
    'effective',
    `threads that write the data files; when a bucket starts, each of its four files is assigned to one of them; ${threadWords}`,
    'bucket start',
  ],
  num_storage_threads: [
    'effective',
    'threads that copy files for compactions, at most one per concurrent compaction; `default`: 1',
  ],
  datatype_snappy: ['effective', '`false`: connections made afterwards cannot negotiate compressed values'],
  tracing_enabled: [
    'effective',
    '`false`: connections made afterwards cannot negotiate durations in replies',
  ],
  dedupe_nmvb_maps: ['kept', 'clients request it themselves for each connection'],
};

function rangeOf(name: Name): string {
  const rule = dataRules[name];
  if (rule.kind === 'integer') return `${rule.min}–${integerMax}`;
  if (rule.kind === 'switch') return '`true`, `false`';
  if (rule.kind === 'text') return 'up to 1000 characters';
  return `${rule.words.map((word) => `\`${word}\``).join(', ')}, 1–${threadsMax}`;
}

function defaultOf(name: Name): string {
  const rule = dataRules[name];
  if (!('default' in rule)) return 'unset';
  return typeof rule.default === 'number' ? `${rule.default}` : `\`${rule.default}\``;
}

export const dataParameters: SettingGroup = {
  title: 'Data service',
  routes: ['data_settings.change', 'data_settings.node_change'],
  settings: dataSettingNames.map((name) => {
    const [effect, note, change] = effective[name] ?? ['kept', 'tunes parts that this server does not have'];
    return setting(name, defaultOf(name), rangeOf(name), change ?? 'live', effect, note);
  }),
};
