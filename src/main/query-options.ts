// The options of `divan query`.
import { connectionOptions } from './connection-options.ts';
import { kinds, type OptionValues } from './options.ts';
import { secondsUpTo } from './remote/common-options.ts';

export const queryOptions = {
  ...connectionOptions(
    'http://127.0.0.1:8093',
    'query service, or REST API of a node, which names it',
    'user who runs the statements',
  ),
  file: { kind: kinds.path, doc: 'file of statements that end with ;' },
  explain: {
    kind: kinds.flag,
    default: false,
    doc: 'show the plans of the statements instead of running them',
  },
  timeout: {
    kind: secondsUpTo(7),
    doc: 'end a statement that takes longer (default: as the settings of the server say); a server that answers nothing is given up after half a minute',
  },
  json: { kind: kinds.flag, default: false, doc: 'print each row as a line of JSON instead of a table' },
} as const;

export type QueryOptions = OptionValues<typeof queryOptions>;
