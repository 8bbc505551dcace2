// The text that the node prints when it is ready.
import type { NodeAddresses, ReadyFile } from './ready.ts';
import { release } from './release.ts';

export interface Summary {
  ready: ReadyFile & { node: NodeAddresses };
  dataDir: string;
  /** Where the configuration is; null: in the data folder. */
  configuration: string | null;
  startedInMs: number;
  provisioned: boolean;
  /** The password was generated: it is printed once, on the first start. */
  isGenerated: boolean;
  isFirstStart: boolean;
  /** Options of the first start that were given to a later one. */
  ignored: readonly string[];
  /** A first start was interrupted. */
  isUnfinished: boolean;
  damages: readonly string[];
}

/** The rows that `divan up` adds once the cloud is ready too. */
export const companionSummary = ({ api, token }: NonNullable<ReadyFile['cloud']>): string =>
  `  cloud    ${api}  token ${token}\n`;

export function summary(parts: Summary): string {
  const {
    ready,
    dataDir,
    configuration,
    startedInMs,
    provisioned,
    isGenerated,
    isFirstStart,
    ignored,
    isUnfinished,
    damages,
  } = parts;
  const { node } = ready;
  const rows = [
    ['REST', `${node.rest}  ${node.restTls}`],
    ['data', `couchbase://${node.kv}  couchbases://${node.kvTls}`],
    ['pages', `${node.rest}/ui/  ${node.rest}/docs/api`],
    ['folder', dataDir],
    ...(configuration === null ? [] : [['config', configuration]]),
    ...(isGenerated && ready.username !== undefined ? [['login', login(ready, isFirstStart)]] : []),
    ...(provisioned
      ? []
      : [['next', 'not provisioned: set it up over REST, or start with --username and --password']]),
    ...(ignored.length === 0 ? [] : [['ignored', `${ignored.join(', ')}: this folder is already set up`]]),
    ...(isUnfinished ? [['next', unfinished]] : []),
    ...damages.map((damage) => ['damaged', damage]),
  ];
  const lines = rows.map(([label, text]) => `  ${(label as string).padEnd(8)} ${text}`);
  return `Divan ${release} is ready (${Math.round(startedInMs)} ms)\n${lines.join('\n')}\n`;
}

const unfinished =
  'the first start was not finished: start once more with its --username, --password, --bucket and --init';

const login = ({ username, password }: ReadyFile, isFirstStart: boolean): string =>
  isFirstStart
    ? `${username}  ${password}  (shown this once)`
    : `${username}  with the password of the first start (--ready-file FILE writes it there)`;
