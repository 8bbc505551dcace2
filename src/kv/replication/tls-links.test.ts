import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { aNodeAuthority } from '../../../test/support/node-authority.ts';
import type { Link } from './link.ts';
import { TlsLinks } from './tls-links.host.ts';

const host = '127.0.0.1';

test('two nodes identify each other by their certificates and exchange bytes', async () => {
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
  // Many TLS records. The period 251 is no power of two, so that a lost or moved record is noticed.
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const pieces: Buffer[] = [];
  const received = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<string>();
  const data = (piece: Buffer): void => {
    pieces.push(Buffer.from(piece));
    if (pieces.reduce((sum, { length }) => sum + length, 0) === bytes.length) received.resolve();
  };
  other.receive({ data, closed: closed.resolve });
  const sent = Promise.withResolvers<void>();
  link.send(bytes, sent.resolve);
  await Promise.all([received.promise, sent.promise]);
  assert.ok(Buffer.concat(pieces).equals(bytes));
  link.close('done');
  await closed.promise;
  await Promise.all([a.close(), b.close()]);
});

test('a link that is closed before it has a handler reports that to its handler once', async () => {
  const issue = await aNodeAuthority();
  const [a, b] = [new TlsLinks(), new TlsLinks()];
  a.useTls(await issue('a'));
  b.useTls(await issue('b'));
  const port = await b.listen(host, 0);
  const link = await a.connect({ host, port, node: 'b' });
  const reasons: string[] = [];
  link.close('done');
  link.receive({ data: () => {}, closed: (reason) => reasons.push(reason) });
  await Promise.all([a.close(), b.close()]);
  assert.deepEqual(reasons, ['done']);
});

test('a node of another name, or with a certificate of another authority, is not connected', async () => {
  const issue = await aNodeAuthority();
  const [a, b, foreign] = [new TlsLinks(), new TlsLinks(), new TlsLinks()];
  a.useTls(await issue('a'));
  b.useTls(await issue('b'));
  const foreignCertificate = await (await aNodeAuthority())('a');
  let accepted = 0;
  b.accepted = () => void accepted++;
  const port = await b.listen(host, 0);
  await assert.rejects(a.connect({ host, port, node: 'c' }), /does not name node c/);
  foreign.useTls(foreignCertificate);
  await assert.rejects(foreign.connect({ host, port, node: 'b' }));
  // `foreign` trusts node b, which does not trust `foreign`.
  foreign.useTls({ ...foreignCertificate, authority: (await issue('a')).authority });
  const refused = Promise.withResolvers<string>();
  const link = await foreign.connect({ host, port, node: 'b' }).catch(() => null);
  if (link === null) refused.resolve('refused');
  else link.receive({ data: () => {}, closed: refused.resolve });
  await refused.promise;
  // Node a closes its connection after it has read the certificate of b, which may have accepted it by then.
  assert.ok(accepted <= 1, 'b accepts no connection of `foreign`');
  await Promise.all([a.close(), b.close(), foreign.close()]);
});

test('a node connects while clients without a certificate, from the same address, open more connections than are accepted', async () => {
  const issue = await aNodeAuthority();
  const [a, b] = [new TlsLinks(), new TlsLinks({ connections: 10, unauthenticated: 5 })];
  a.useTls(await issue('a'));
  b.useTls(await issue('b'));
  const port = await b.listen(host, 0);
  const strangers = Array.from({ length: 20 }, () => connect(port, host).on('error', () => {}));
  await Promise.all(strangers.map((stranger) => once(stranger, 'connect')));
  const accepted = Promise.withResolvers<Link>();
  b.accepted = accepted.resolve;
  await a.connect({ host, port, node: 'b' });
  assert.equal((await accepted.promise).node, 'a');
  for (const stranger of strangers) stranger.destroy();
  await Promise.all([a.close(), b.close()]);
});
