// The data service's global settings. Those without an effect tune parts of another server, and are stored for tools that
// set them.
import { dataRules, dataSettingNames, integerMax, threadsMax } from '../data-settings/data-settings.ts';
import { type Change, type Effect, type SettingGroup, setting } from './setting.ts';

type Name = (typeof dataSettingNames)[number];

const threadWords =
  '`default`: 1, `disk_io_optimized`: as many as processors, 4 at least; each that runs takes about 12 MB';

const acting: Partial<Record<Name, [Effect, string, Change?]>> = {
  max_connections: ['acts', 'connections to the data ports of a node; those above are closed at once'],
  system_connections: ['replicas', 'of them, those that nodes keep for each other'],
  connection_idle_time: [
    'acts',
    'seconds; 0: no limit. Connections that wait for a reply or have a change stream are not idle',
  ],
  verbosity: [
    'acts',
    'above 0 the data service logs all it has to say whatever `--log-level` is, connections as they come and go among it',
  ],
  num_reader_threads: [
    'acts',
    `threads that fetch documents and histories from disk, started when those there are have something to do; ${threadWords}`,
  ],
  num_writer_threads: [
    'acts',
    `threads that the files of buckets, four each, are spread over when a bucket starts; ${threadWords}`,
    'bucket start',
  ],
  num_storage_threads: [
    'acts',
    'threads that copy files for compactions, as many at most as compactions that go on at once; `default`: 1',
  ],
  datatype_snappy: ['acts', '`false`: connections made afterwards cannot negotiate compressed values'],
  tracing_enabled: ['acts', '`false`: connections made afterwards cannot negotiate durations in replies'],
  dedupe_nmvb_maps: ['kept', 'clients ask for it themselves, each for its connection'],
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
  if (!('fallback' in rule)) return 'unset';
  return typeof rule.fallback === 'number' ? `${rule.fallback}` : `\`${rule.fallback}\``;
}

export const dataParameters: SettingGroup = {
  title: 'Data service',
  routes: ['data_settings.change', 'data_settings.node_change'],
  settings: dataSettingNames.map((name) => {
    const [effect, note, change] = acting[name] ?? ['kept', 'tunes what this server does not have'];
    return setting(name, defaultOf(name), rangeOf(name), change ?? 'live', effect, note);
  }),
};
