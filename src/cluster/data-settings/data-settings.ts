// The data service's global settings and their ranges. The cluster has values, and each node may
// override them; only values that were set are stored.
import { integerOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';

export type DataValue = number | boolean | string;
export type DataSettings = Record<string, DataValue>;

type Rule =
  | { kind: 'integer'; min: number; default?: number }
  | { kind: 'threads'; words: readonly string[]; default: string }
  | { kind: 'switch'; default: boolean }
  | { kind: 'text' };

export const integerMax = 2 ** 31 - 1;
export const threadsMax = 64;
const textLengthMax = 1000;

const threads = (...words: string[]): Rule => ({ kind: 'threads', words, default: 'default' });

export const dataRules = {
  max_connections: { kind: 'integer', min: 2000, default: 65_000 },
  system_connections: { kind: 'integer', min: 1000, default: 5000 },
  connection_idle_time: { kind: 'integer', min: 0, default: 0 },
  verbosity: { kind: 'integer', min: 0, default: 0 },
  num_reader_threads: threads('default', 'disk_io_optimized'),
  num_writer_threads: threads('default', 'disk_io_optimized'),
  num_auxio_threads: threads('default'),
  num_nonio_threads: threads('default'),
  num_storage_threads: threads('default'),
  privilege_debug: { kind: 'switch', default: false },
  dedupe_nmvb_maps: { kind: 'switch', default: false },
  breakpad_enabled: { kind: 'switch', default: true },
  tracing_enabled: { kind: 'switch', default: true },
  datatype_snappy: { kind: 'switch', default: true },
  ssl_cipher_list: { kind: 'text' },
  breakpad_minidump_dir_path: { kind: 'text' },
  threads: { kind: 'integer', min: 0 },
  default_reqs_per_event: { kind: 'integer', min: 0 },
  reqs_per_event_high_priority: { kind: 'integer', min: 0 },
  reqs_per_event_med_priority: { kind: 'integer', min: 0 },
  reqs_per_event_low_priority: { kind: 'integer', min: 0 },
} as const satisfies Record<string, Rule>;

export const dataSettingNames = Object.keys(dataRules) as (keyof typeof dataRules)[];

export const globalDataSetting = 'memcached';
export const nodeDataSetting = (nodeUuid: string): string => `memcached/${nodeUuid}`;

/** The effective values of a node: its own override the cluster's, which override the defaults. */
export function effectiveDataSettings(view: ClusterView, nodeId: string): DataSettings {
  const nodeSettings = view.setting<DataSettings>(nodeDataSetting(nodeId), {});
  return { ...dataDefaults, ...view.setting<DataSettings>(globalDataSetting, {}), ...nodeSettings };
}

const dataDefaults: DataSettings = Object.fromEntries(
  dataSettingNames.flatMap((name) => {
    const rule: Rule = dataRules[name];
    return 'default' in rule && rule.default !== undefined ? [[name, rule.default]] : [];
  }),
);

/** The values that the form sets, and its problems, by name. */
export function readDataForm(form: Form): { changes: DataSettings; problems: Record<string, string> } {
  const changes: DataSettings = {};
  const problems: Record<string, string> = {};
  const unknown = Object.keys(form).filter((name) => !Object.hasOwn(dataRules, name));
  if (unknown.length > 0) problems['_'] = `Unknown POST parameters: ${JSON.stringify(unknown)}`;
  for (const name of dataSettingNames) {
    const sent = form[name];
    if (sent === undefined) continue;
    const read = readValue(sent, dataRules[name]);
    if ('problem' in read) problems[name] = read.problem;
    else changes[name] = read.value;
  }
  return { changes, problems };
}

type Reading = { value: DataValue } | { problem: string };

function readValue(sent: string, rule: Rule): Reading {
  switch (rule.kind) {
    case 'integer':
      return readInteger(sent, rule.min, integerMax);
    case 'threads':
      return rule.words.includes(sent) ? { value: sent } : readInteger(sent, 1, threadsMax);
    case 'switch':
      return sent === 'true' || sent === 'false'
        ? { value: sent === 'true' }
        : { problem: 'must be either true or false' };
    case 'text':
      return sent.length <= textLengthMax ? { value: sent } : { problem: 'invalid' };
  }
}

function readInteger(sent: string, min: number, max: number): Reading {
  const value = integerOf(sent);
  if (value === null) return { problem: 'invalid' };
  if (value < min) return { problem: 'too_small' };
  return value > max ? { problem: 'too_large' } : { value };
}
