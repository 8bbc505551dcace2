// The options of `divan cloud`.
import { logLevels } from '#ports/log.ts';
import { choice, kinds, type OptionKind, type OptionValues, UsageError } from './options.ts';

/** A share: `1/64` or `0.5`. */
const share: OptionKind<number> = {
  placeholder: 'SHARE',
  show: (value) => (Number.isInteger(1 / value) ? `1/${1 / value}` : String(value)),
  parse(text) {
    const [, above, below] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(text) ?? [];
    const value = Number(above) / Number(below ?? 1);
    if (value > 0 && value <= 1) return value;
    throw new UsageError(`"${text}" is not a share such as 1/64, above 0 and at most 1`);
  },
};

/** `example`: an address that would be right. */
export const httpUrl = (example: string): OptionKind<string> => ({
  placeholder: 'URL',
  show: (value) => value,
  parse(text) {
    const { protocol = '', search, hash, username, password } = URL.parse(text) ?? {};
    const hasMore = [search, hash, username, password].some((part) => part !== '');
    if (['http:', 'https:'].includes(protocol) && !hasMore) return text;
    throw new UsageError(`"${text}" is not an address such as ${example}`);
  },
});

export const cloudOptions = {
  'data-dir': { kind: kinds.path, default: './divan-cloud', doc: 'folder of all files of the cloud' },
  host: { kind: kinds.host, default: '127.0.0.1', doc: 'address to listen on' },
  port: { kind: kinds.port, default: 8080, doc: 'hosted management API' },
  'public-url': {
    kind: httpUrl('https://cloud.example.com'),
    doc: 'base URL of paging links, for clients that reach the API through a proxy',
  },
  database: { kind: kinds.text, doc: 'SQLite file, or postgres://… (default: a file in the data folder)' },
  'key-file': {
    kind: kinds.path,
    doc: 'file of the key that encrypts secrets in the database; servers of one database share it (default: in the data folder)',
  },
  'size-scale': {
    kind: share,
    default: 1 / 64,
    doc: 'share of a requested instance’s memory that its node gets',
  },
  capacity: {
    kind: kinds.megabytes,
    doc: 'memory of all nodes of this server together, in MB (default: half of the machine’s)',
  },
  'rate-limit': {
    kind: kinds.count,
    default: 500,
    doc: 'requests per second of one token; a burst may have five times as many',
  },
  config: { kind: kinds.path, doc: 'JSON file of clouds, users and tokens to create' },
  'ready-file': { kind: kinds.path, doc: 'JSON file to write when ready (mode 0600)' },
  'log-level': {
    kind: choice(...logLevels),
    default: 'warn',
    doc: 'log to standard error from this level up',
  },
} as const;

export type CloudOptionValues = OptionValues<typeof cloudOptions>;
