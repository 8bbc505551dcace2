// The options of `divan up`: those of a node, and those of the cloud beside it, whose port is `--cloud-port`.
import { cloudOptions } from './cloud-options.ts';
import { nodeOptions } from './node-options.ts';
import { environmentName, kinds, type OptionValues } from './options.ts';
import { integerOption } from './remote/common-options.ts';

/** The same as for a cluster of the hosted management API. */
const nodesMax = 27;

export const upOptions = {
  ...nodeOptions,
  password: {
    kind: kinds.text,
    doc: 'password of that administrator; better given by environment, where it has no effect without a user name',
  },
  nodes: {
    kind: integerOption(1, nodesMax),
    default: 1,
    doc: 'nodes of the cluster: the second and later ones run beside the first, on free ports, in folders of its data folder',
  },
  'no-cloud': { kind: kinds.flag, default: false, doc: 'start the node alone' },
  'cloud-port': cloudOptions.port,
  database: cloudOptions.database,
  'size-scale': cloudOptions['size-scale'],
  capacity: cloudOptions.capacity,
  'rate-limit': cloudOptions['rate-limit'],
  config: cloudOptions.config,
} as const;

/**
 * `DIVAN_PASSWORD` is also the password of commands on a running node: without a user name it is not meant for a start. `divan node`
 * refuses it: a new node whose user name was forgotten would wait for any client to set it up.
 */
export function upEnvironment(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const name = environment[environmentName('username')] ?? '';
  const isNamed = name !== '' || args.some((arg) => /^--username(=|$)/.test(arg));
  return isNamed ? environment : { ...environment, [environmentName('password')]: undefined };
}

export type UpOptions = OptionValues<typeof upOptions>;
