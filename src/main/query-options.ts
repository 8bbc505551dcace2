// The options of `divan query`.
import { httpUrl } from './cloud-options.ts';
import { kinds, type OptionValues } from './options.ts';

export const queryOptions = {
  url: { kind: httpUrl, default: 'http://127.0.0.1:8093', doc: 'query service' },
  username: { kind: kinds.text, default: 'Administrator', doc: 'user who runs the statements' },
  password: { kind: kinds.text, doc: 'password of that user; better given by environment', required: true },
  file: { kind: kinds.path, doc: 'file of statements that end with ;' },
  explain: {
    kind: kinds.flag,
    default: false,
    doc: 'show the plans of the statements instead of running them',
  },
  json: { kind: kinds.flag, default: false, doc: 'print each row as a line of JSON instead of a table' },
} as const;

export type QueryOptions = OptionValues<typeof queryOptions>;
