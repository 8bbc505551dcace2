import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNodeAuthority } from '../../../test/support/node-authority.ts';
import { encodeFrame } from './frames.ts';
import type { Link } from './link.ts';
import { TlsLinks } from './tls-links.host.ts';

const host = '127.0.0.1';

test('two nodes know each other by their certificates and exchange frames', async () => {
  const issue = await aNodeAuthority();
  const [a, b] = [new TlsLinks(), new TlsLinks()];
  a.useTls(await issue('a'));
  b.useTls(await issue('b'));
  const accepted = Promise.withResolvers<Link>();
  b.accepted = accepted.resolve;
  const port = await b.listen(host, 0);
  const link = await a.connect({ host, port, node: 'b' });
  const other = await accepted.promise;
  assert.deepEqual([link.node, other.node], ['b', 'a']);
  const frame = encodeFrame({ kind: 'hello', node: 'a', boot: '1' }, Buffer.alloc(300_000, 7));
  const received = Promise.withResolvers<Buffer>();
  const closed = Promise.withResolvers<string>();
  other.receive({ frame: received.resolve, closed: closed.resolve });
  link.send(frame);
  assert.ok((await received.promise).equals(frame));
  link.close('done');
  await closed.promise;
  await Promise.all([a.close(), b.close()]);
});

test('a node of another name, or with a certificate of another authority, is not connected', async () => {
  const issue = await aNodeAuthority();
  const [a, b, foreign] = [new TlsLinks(), new TlsLinks(), new TlsLinks()];
  a.useTls(await issue('a'));
  b.useTls(await issue('b'));
  const theirs = await (await aNodeAuthority())('a');
  let accepted = 0;
  b.accepted = () => void accepted++;
  const port = await b.listen(host, 0);
  await assert.rejects(a.connect({ host, port, node: 'c' }), /does not name node c/);
  foreign.useTls(theirs);
  await assert.rejects(foreign.connect({ host, port, node: 'b' }));
  // It trusts the node, but the node does not trust it.
  foreign.useTls({ ...theirs, authority: (await issue('a')).authority });
  const refused = Promise.withResolvers<string>();
  const link = await foreign.connect({ host, port, node: 'b' }).catch(() => null);
  if (link === null) refused.resolve('refused');
  else link.receive({ frame: () => {}, closed: refused.resolve });
  await refused.promise;
  assert.ok(accepted <= 1, 'only the connection that the first node gave up');
  await Promise.all([a.close(), b.close(), foreign.close()]);
});
