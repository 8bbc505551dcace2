// Which certificates of another cluster are accepted, and how this cluster logs in with its client certificate.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { rest } from '#client/rest.adapter.ts';
import { OpensslAuthority, type Pair } from '../../../test/support/openssl.ts';
import { findCluster, type TargetAccount, TargetError } from './target-cluster.ts';

const names = 'DNS:localhost,IP:127.0.0.1';
const uuid = 'c'.repeat(32);

/** A cluster that accepts every password; with `clients`, only client certificates of this authority. `logins`: who logged in. */
async function aCluster(pair: Pair, clients?: OpensslAuthority) {
  const logins: string[] = [];
  const server = createServer(
    {
      cert: pair.certificate,
      key: pair.key,
      ...(clients && { ca: clients.certificate, requestCert: true, rejectUnauthorized: true }),
    },
    (incoming, outgoing) => {
      const subject = (incoming.socket as TLSSocket).getPeerX509Certificate()?.subject;
      logins.push(subject ?? incoming.headers.authorization ?? 'nobody');
      const isPools = incoming.url === '/pools';
      outgoing.end(JSON.stringify(isPools ? { uuid, pools: [{}] } : { nodesExt: [] }));
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { hostname: `127.0.0.1:${port}`, logins, [Symbol.dispose]: () => void server.close() };
}

const aLogin = (hostname: string, certificate: string, more: Partial<TargetAccount> = {}): TargetAccount => ({
  hostname,
  username: 'u',
  password: 'pw',
  certificate,
  clientCertificate: '',
  clientKey: '',
  ...more,
});

const problemOf = async (account: TargetAccount): Promise<string> => {
  const found = await findCluster(rest, account).catch((error: Error) => error);
  assert.ok(found instanceof TargetError, JSON.stringify(found));
  return found.message;
};

test('the source node accepts only a certificate of the given authority that names the host', async () => {
  using authority = new OpensslAuthority('/CN=Theirs');
  using other = new OpensslAuthority('/CN=Another');
  using good = await aCluster(authority.issue('/CN=node', { names }));
  assert.equal((await findCluster(rest, aLogin(good.hostname, authority.certificate))).uuid, uuid);
  assert.match(
    await problemOf(aLogin(good.hostname, other.certificate)),
    /^The certificate of "127\.0\.0\.1" on port \d+ is not accepted: unable to verify/,
  );
  assert.match(await problemOf(aLogin(good.hostname, 'no certificate')), /is not accepted|refuses the TLS/);
  using wrongName = await aCluster(authority.issue('/CN=node', { names: 'DNS:elsewhere' }));
  assert.match(
    await problemOf(aLogin(wrongName.hostname, authority.certificate)),
    /is not accepted: Hostname\/IP does not match/,
  );
  using expired = await aCluster(authority.issue('/CN=node', { names, fromDays: -3, toDays: -1 }));
  assert.match(
    await problemOf(aLogin(expired.hostname, authority.certificate)),
    /is not accepted: certificate has expired/,
  );
});

test('a client certificate logs in without a password, if the target accepts its authority', async () => {
  using authority = new OpensslAuthority('/CN=Theirs');
  using other = new OpensslAuthority('/CN=Another');
  using target = await aCluster(authority.issue('/CN=node', { names }), authority);
  const shows = ({ certificate, key }: Pair) =>
    aLogin(target.hostname, authority.certificate, { clientCertificate: certificate, clientKey: key });
  assert.equal((await findCluster(rest, shows(authority.issue('/CN=sender')))).uuid, uuid);
  assert.deepEqual([...new Set(target.logins)], ['CN=sender']);
  for (const pair of [
    other.issue('/CN=sender'),
    authority.issue('/CN=sender', { fromDays: -3, toDays: -1 }),
  ]) {
    const problem = await problemOf(shows(pair));
    assert.match(problem, /refuses the TLS connection|Could not connect/);
  }
  // The operating system may report the closed connection before the TLS alert that the target sent.
  const without = await problemOf(aLogin(target.hostname, authority.certificate));
  assert.match(
    without,
    /^"127\.0\.0\.1" on port \d+ demands a client certificate: give clientCertificate|^Could not connect/,
  );
  assert.deepEqual([...new Set(target.logins)], ['CN=sender']);
});
