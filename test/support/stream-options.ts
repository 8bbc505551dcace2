// Options of a change stream of one vbucket, from the first change and without an end.
import type { ItemForm } from '#kv/stream/message-writer.ts';
import type { StreamOptions } from '#kv/stream/stream.ts';

/** The default collection, unless `options` has another filter. For tests that write no messages: the documents have no form. */
export const streamOptions = (
  vb: number,
  options: Pick<StreamOptions, 'source'> & Partial<StreamOptions>,
): StreamOptions => ({
  address: { vb, opaque: 0, streamId: 0 },
  filter: { kind: 'default' },
  form: {} as ItemForm,
  startSeqno: 0,
  endSeqno: Infinity,
  snapStart: 0,
  ignorePurged: false,
  diskOnly: false,
  documentsOnly: false,
  ...options,
});
