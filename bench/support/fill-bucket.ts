// Fills a bucket with documents of one size: many requests in one write; every reply must report success.
import { dataClient, set } from '../../test/support/data-client.ts';
import type { NodeProcess } from '../../test/support/node-process.ts';

const batch = 512;

/** `actives`: by vbucket the index of the node that serves it. */
export async function fillBucket(
  nodes: readonly NodeProcess[],
  bucket: string,
  { actives, count, bytes }: { actives: readonly number[]; count: number; bytes: number },
): Promise<void> {
  const value = Buffer.alloc(bytes, 'f');
  await Promise.all(
    nodes.map(async (node, at) => {
      const vbuckets = [...actives.keys()].filter((vb) => actives[vb] === at);
      if (vbuckets.length === 0) return;
      const client = await dataClient(node, bucket);
      const share = Math.round((count * vbuckets.length) / actives.length);
      for (let from = 0; from < share; from += batch) {
        const size = Math.min(batch, share - from);
        client.send(
          ...Array.from({ length: size }, (_, i) =>
            set(`f${from + i}`, value, { vb: vbuckets[(from + i) % vbuckets.length] as number }),
          ),
        );
        for (let i = 0; i < size; i++) {
          const status = (await client.next())?.status;
          if (status !== 0) throw new Error(`a document was refused with status ${status}`);
        }
      }
      client.close();
    }),
  );
}
