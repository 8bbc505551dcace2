// The options of `divan up`: those of a node, and those of the cloud beside it, whose port is `--cloud-port`.
import { cloudOptions } from './cloud-options.ts';
import { nodeOptions } from './node-options.ts';
import { kinds, type OptionValues } from './options.ts';
import { wholeNumber } from './remote/common-options.ts';

/** The same as for a cluster of the hosted management API. */
const nodesMax = 27;

export const upOptions = {
  ...nodeOptions,
  nodes: {
    kind: wholeNumber(1, nodesMax),
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

export type UpOptions = OptionValues<typeof upOptions>;
