// The data service's global settings. Most of them tune parts of another server, and are kept for tools that set them.
import { dataRules, dataSettingNames, integerMax, threadsMax } from '../data-settings/data-settings.ts';
import { type Effect, type SettingGroup, setting } from './setting.ts';

type Name = (typeof dataSettingNames)[number];

const acting: Partial<Record<Name, [Effect, string]>> = {
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
    const [effect, note] = acting[name] ?? ['kept', undefined];
    return setting(name, defaultOf(name), rangeOf(name), 'live', effect, note);
  }),
};
