// `divan sample travel`: has a node install the bucket travel-sample, and waits until the bucket is complete.
import { realClock } from '#ports/clock.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { jsonFlag } from '../remote/common-options.ts';
import { RemoteNode } from '../remote/remote-node.ts';
import { verb } from '../remote/verb.ts';
import { ProgressLine } from '../terminal.ts';

const sample = 'travel-sample';
const pollEveryMs = 100;

interface Task {
  readonly type: string;
  readonly bucket?: string;
}

export const sampleVerbs = [
  verb(
    'travel',
    'installs the bucket travel-sample: invented documents in the collections, and with the indexes, that tutorials use',
    { ...nodeConnection('an administrator'), json: jsonFlag },
    async (options) => {
      const node = new RemoteNode(options);
      if (!(await isInstalled(node))) await install(node);
      const hasIndexes = await keepsIndexes(node);
      const without = hasIndexes ? '' : ', without indexes: no node runs the index or the query service';
      return {
        value: { bucket: sample, indexes: hasIndexes },
        text: `bucket "${sample}" is installed${without}`,
      };
    },
  ),
];

async function install(node: RemoteNode): Promise<void> {
  const line = new ProgressLine();
  try {
    if (!(await isLoading(node)))
      await node.request('POST', '/sampleBuckets/install', JSON.stringify([sample]));
    line.show(`loading ${sample}`);
    while (await isLoading(node)) await realClock.sleep(pollEveryMs);
  } finally {
    line.end();
  }
  if (!(await isInstalled(node)))
    throw new CommandError(`loading ${sample} failed; the events of the cluster say why`);
}

async function isInstalled(node: RemoteNode): Promise<boolean> {
  const samples = (await node.get('/sampleBuckets')) as { name: string; installed: boolean }[];
  const found = samples.find(({ name }) => name === sample);
  if (found === undefined) throw new CommandError(`the node has no sample "${sample}"`, ExitStatus.missing);
  return found.installed;
}

async function isLoading(node: RemoteNode): Promise<boolean> {
  const tasks = (await node.get('/pools/default/tasks')) as Task[];
  return tasks.some(({ type, bucket }) => type === 'loadingSampleBucket' && bucket === sample);
}

/** Whether a node of the cluster keeps indexes: nodes with the query service do so too. */
async function keepsIndexes(node: RemoteNode): Promise<boolean> {
  const { nodes } = (await node.get('/pools/default')) as { nodes: { services: string[] }[] };
  return nodes.some(({ services }) => services.some((service) => service === 'index' || service === 'n1ql'));
}
