// A write of one document by a command, and what its outcome means.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import { Status } from '#wire/status.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import type { BucketData } from './bucket-data.ts';
import type { VerbOutput } from './verb.ts';

export const absent = (bucket: string, key: string) =>
  new CommandError(`bucket "${bucket}" has no document "${key}" in this collection`, ExitStatus.missing);

/** @throws CommandError when the document is not written, or it is not known whether it is */
export async function storeDocument(
  data: Pick<BucketData, 'bucket' | 'store'>,
  collectionId: number,
  request: StoreRequest,
): Promise<VerbOutput> {
  const { kind, key } = request;
  let wasLost = false;
  const [reply] = await data.store(collectionId, [request], () => {
    wasLost = true;
  });
  const { status, cas } = reply as StoreReply;
  const done = kind === 'remove' ? 'deleted' : 'stored';
  if (status === Status.success) return { value: { key, cas: String(cas) }, text: `"${key}" is ${done}` };
  // A request whose connection was lost may have had an effect, which refuses its repetition.
  if (wasLost && status === (kind === 'remove' ? Status.keyNotFound : Status.keyExists))
    throw new CommandError(
      `document "${key}": the connection was lost, and it is not known whether this command has ${done} it; see divan doc get`,
    );
  if (status === Status.keyNotFound) throw absent(data.bucket, key);
  if (status === Status.keyExists)
    throw new CommandError(
      kind === 'add' ? `document "${key}" already exists` : `document "${key}" has another CAS`,
    );
  throw new CommandError(`document "${key}": ${statusName(status)}`);
}
