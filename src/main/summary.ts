// What a person reads when the node is ready.
import type { NodeAddresses, ReadyFile } from './ready.ts';

export interface Summary {
  ready: ReadyFile & { node: NodeAddresses };
  dataDir: string;
  startedInMs: number;
  provisioned: boolean;
  /** Shown once, on the start that made it. */
  madePassword: string | null;
  damages: readonly string[];
}

/** The rows that `divan up` adds once the cloud is ready too. */
export const companionSummary = ({ api, token }: NonNullable<ReadyFile['cloud']>): string =>
  `  cloud    ${api}  token ${token}\n`;

export function summary({
  ready,
  dataDir,
  startedInMs,
  provisioned,
  madePassword,
  damages,
}: Summary): string {
  const { node } = ready;
  const rows = [
    ['REST', `${node.rest}  ${node.restTls}`],
    ['data', `couchbase://${node.kv}  couchbases://${node.kvTls}`],
    ['folder', dataDir],
    ...(madePassword === null ? [] : [['login', `${ready.username}  ${madePassword}  (shown this once)`]]),
    ...(provisioned
      ? []
      : [['next', 'not provisioned: set it up over REST, or start with --username and --password']]),
    ...damages.map((damage) => ['damaged', damage]),
  ];
  const lines = rows.map(([label, text]) => `  ${(label as string).padEnd(8)} ${text}`);
  return `Divan is ready (${Math.round(startedInMs)} ms)\n${lines.join('\n')}\n`;
}
